"""`mco version`."""

from __future__ import annotations

import json

import click

from mco.cli.options import output_option
from mco.runtime import version


@click.command()
@output_option("text", "json")
def command(output: str) -> None:
    """Print the version of this program and the commit it was built from.

    Exit codes: 0 done, 2 wrong usage.
    """
    if output == "json":
        click.echo(json.dumps({"version": version.RAW, "commit": version.commit()}))
    else:
        click.echo(f"mco {version.RAW} ({version.commit()})")
