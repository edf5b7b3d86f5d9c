"""`mco version`."""

from __future__ import annotations

import json

import click

from mco.runtime import version


@click.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Output format.")
def command(output: str) -> None:
    """Print the version of this program and the commit it was built from."""
    if output == "json":
        click.echo(json.dumps({"version": version.RAW, "commit": version.commit()}))
    else:
        click.echo(f"mco {version.RAW} ({version.commit()})")
