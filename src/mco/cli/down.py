"""`mco down`."""

from __future__ import annotations

import click

from mco.cli.options import instance_option


@click.command()
@instance_option()
@click.option("--purge", is_flag=True, help="Remove its data too: every object, identity and log.")
def command(name: str, purge: bool) -> None:
    """Stop an instance of `mco up` and remove its machines.

    Its objects stay, so that the next `mco up` starts with them; with --purge nothing stays.

    Exit codes: 0 it does not run any more, or never did; 1 it could not be stopped or removed; 2 wrong usage.
    """
    import asyncio
    import shutil

    from mco.fleet import running
    from mco.fleet.instance import folder_of
    from mco.lab import cleanup, instance

    def tell(line: str) -> None:
        click.echo(line, err=True)

    stopped = asyncio.run(running.stop(name, discard=purge))
    running.sweep_tours()
    cleanup.sweep(tell)
    if purge:
        asyncio.run(instance.purge(name, tell))
    folder = folder_of(name)
    had = folder.exists()
    asyncio.run(instance.erase(folder / "machines"))
    shutil.rmtree(folder if purge else folder / "machines", ignore_errors=True)
    if stopped:
        click.echo(f'instance "{name}" stopped')
    elif not had:
        click.echo(f'there is no instance "{name}"')
    if had:
        click.echo("its data are removed" if purge else "its machines are removed")
