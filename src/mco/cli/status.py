"""`mco status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.options import instance_option, kubeconfig_option, output_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mco.fleet.view import FleetView, NodeView, PoolView

_WIDTH = 120


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
    from mco.fleet import running
    from mco.fleet.diagnosis import diagnose
    from mco.fleet.view import view
    from mco.kube.client import Client
    from mco.kube.config import load

    path = kubeconfig or running.kubeconfig(name)

    async def ask() -> FleetView:
        async with Client(load(path), user_agent="mco-status") as client:
            pools = await client.list(resources.MACHINE_CONFIG_POOLS)
            nodes = await client.list(resources.NODES)
            reports = await client.list(resources.MACHINE_CONFIG_NODES)
            found = view(pools.items, nodes.items, reports.items)
            if not any(pool.unrendered for pool in found.pools):
                return found
            return msgspec.structs.replace(found, findings=await diagnose(client, pools.items))

    fleet = asyncio.run(ask())
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(fleet)).decode())
    elif output == "yaml":
        click.echo(msgspec.yaml.encode(fleet).decode(), nl=False)
    else:
        click.echo("\n\n".join(_sections(fleet)))
    sys.exit(0 if all(p.updated and not p.degraded for p in fleet.pools) else 1)


def _sections(fleet: FleetView) -> Iterator[str]:
    from mco.cli.table import describe_finding, table

    yield table(("POOL", "CONFIG", "STATE", "NODES", "MESSAGE"), [_pool(pool) for pool in fleet.pools])
    yield table(("NODE", "POOL", "STATE", "CURRENT", "DESIRED", "WHY"), [_node(node) for node in fleet.nodes])
    if fleet.findings:
        yield "\n".join(map(describe_finding, fleet.findings))


def _pool(pool: PoolView) -> Sequence[str]:
    counts = f"{pool.updated_machines}/{pool.machines}"
    return pool.name, pool.config, _word(pool.updated, pool.degraded), counts, _short(pool)


def _node(node: NodeView) -> Sequence[str]:
    desired = "" if node.current == node.desired else node.desired
    why = node.reason or node.waiting or node.failed_units
    return node.name, node.pool, node.state, node.current, desired, why


def _short(pool: PoolView) -> str:
    """What a pool says of its nodes stands beside them; the whole text is in the other formats."""
    lines = pool.message.splitlines() or [""]
    if pool.unrendered or len(lines[0]) <= _WIDTH:
        return lines[0]
    return lines[0][: _WIDTH - 3] + "..."


def _word(updated: bool, degraded: bool) -> str:
    return "Degraded" if degraded else ("Updated" if updated else "Updating")
