"""`mco status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.options import instance_option, kubeconfig_option, output_option

if TYPE_CHECKING:
    from mco.fleet.view import FleetView


@click.command()
@instance_option()
@kubeconfig_option("Ask this cluster instead.")
@output_option("text", "json", "yaml")
def command(name: str, kubeconfig: Path | None, output: str) -> None:
    """Show pools and nodes, and why a node does not move.

    Exit codes: 0 every pool has reached its target, 1 one has not or is degraded, or nobody answers, 2 wrong
    usage.
    """
    import asyncio
    import sys

    import msgspec

    from mco.api import resources
    from mco.cli.table import table
    from mco.fleet import running
    from mco.fleet.view import view
    from mco.kube.client import Client
    from mco.kube.config import load

    path = kubeconfig or running.kubeconfig(name)

    async def ask() -> FleetView:
        async with Client(load(path), user_agent="mco-status") as client:
            pools = await client.list(resources.MACHINE_CONFIG_POOLS)
            nodes = await client.list(resources.NODES)
            return view(pools.items, nodes.items)

    fleet = asyncio.run(ask())
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(fleet)).decode())
    elif output == "yaml":
        click.echo(msgspec.yaml.encode(fleet).decode(), nl=False)
    else:
        rows = [
            (p.name, p.config, _word(p.updated, p.degraded), f"{p.updated_machines}/{p.machines}", p.message)
            for p in fleet.pools
        ]
        click.echo(table(("POOL", "CONFIG", "STATE", "NODES", "MESSAGE"), rows))
        click.echo()
        lines = [
            (
                n.name,
                n.pool,
                n.state,
                n.current,
                "" if n.current == n.desired else n.desired,
                n.reason or n.waiting,
            )
            for n in fleet.nodes
        ]
        click.echo(table(("NODE", "POOL", "STATE", "CURRENT", "DESIRED", "WHY"), lines))
    sys.exit(0 if all(p.updated and not p.degraded for p in fleet.pools) else 1)


def _word(updated: bool, degraded: bool) -> str:
    return "Degraded" if degraded else ("Updated" if updated else "Updating")
