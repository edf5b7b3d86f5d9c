"""`mco uninstall`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.options import Seconds, kubeconfig_option

if TYPE_CHECKING:
    from mco.payload.manifest import Manifest


@click.command()
@kubeconfig_option()
@click.option(
    "--purge",
    is_flag=True,
    help="Remove the CustomResourceDefinitions too, and with them every MachineConfig, pool and report.",
)
@click.option("--yes", "confirmed", is_flag=True, help="Do not ask.")
@click.option(
    "--timeout",
    type=Seconds(),
    default=900.0,
    show_default=True,
    help="Seconds for the components to end; a daemon finishes what it does to its node first.",
)
def command(kubeconfig: Path | None, purge: bool, confirmed: bool, timeout: float) -> None:
    """Remove the operator and what it runs from a cluster.

    Nodes keep their files and what they run; those that were being drained are uncordoned.

    Exit codes: 0 removed, 1 it is not, or the answer was no, 2 wrong usage, 130 interrupted; the next run
    goes on.
    """
    import asyncio
    import sys

    from mco.cli.install import named
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.payload import operands
    from mco.payload.image import NAME
    from mco.payload.install import read_payload
    from mco.payload.uninstall import uninstall
    from mco.runtime import logging
    from mco.runtime.clock import SystemClock

    logging.configure("error")
    cluster = load(kubeconfig)
    if not confirmed:
        what = "and every MachineConfig and pool of it" if purge else "but no MachineConfig or pool"
        if not click.confirm(f"Remove the machine config operator of {cluster.server}, {what}?"):
            sys.exit(1)

    def tell(manifest: Manifest) -> None:
        click.echo(f"{named(manifest)} deleted")

    async def run() -> None:
        async with Client(cluster, user_agent="mco-uninstall") as client:
            running = operands.load(operands.Setting(image=NAME, server=cluster.server))
            freed = await uninstall(
                read_payload(), running, client, SystemClock(), tell, purge=purge, timeout=timeout
            )
            for node in freed:
                click.echo(f"node/{node} uncordoned")

    asyncio.run(run())
