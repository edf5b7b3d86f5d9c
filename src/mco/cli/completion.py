"""`mco completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes mco's commands and options.

    For bash: `source <(mco completion bash)`.

    Exit codes: 0 done, 2 wrong usage.
    """
    from mco.cli.main import mco

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(completion(mco, {}, "mco", "_MCO_COMPLETE").source())
