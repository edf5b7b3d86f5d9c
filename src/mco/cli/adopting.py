"""Adoption as text: what `mco install --adopt` shows, and what it does when that was confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mco.cli.table import table

if TYPE_CHECKING:
    from mco.kube.client import Client
    from mco.payload.adoption import Prospect

_DIFF_LINES = 20


async def show(client: Client) -> None:
    from mco.payload.adoption import outlook

    found = await outlook(client)
    rows = [(n.node, n.role or "has one", n.pool or f"none: {n.trouble or 'no pool'}") for n in found.nodes]
    click.echo(table(("NODE", "NEW ROLE", "POOL"), rows))
    for pool in found.pools:
        click.echo()
        click.echo(_prospect(pool), nl=False)


async def adopt(client: Client) -> None:
    from mco.payload.adoption import label, outlook

    for node in await label(client, (await outlook(client)).nodes):
        click.echo(f"node/{node} labeled")


def _prospect(pool: Prospect) -> str:
    from mco.plan.preview.text import Writer

    heading = f"Pool {pool.pool}, on a node that has nothing of it yet:\n"
    if pool.trouble:
        return f"{heading}  cannot be told: {pool.trouble}\n"
    if pool.change is None:
        return f"{heading}  it selects no MachineConfigs, nothing changes\n"
    return heading + Writer(lambda text, _: text, _DIFF_LINES).text(pool.change)
