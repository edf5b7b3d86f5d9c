"""`mco controller`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mco.cli.election import Election, election_options
from mco.cli.limits import collection_options, limit_options
from mco.cli.metrics import secure_metrics_options
from mco.cli.options import Seconds, kubeconfig_option, log_level_option

if TYPE_CHECKING:
    from mco.runtime.scraping import Address


@click.command()
@kubeconfig_option()
@click.option(
    "--authority",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with ca.crt and ca.key: let machines in, as an embedded API server needs it.",
)
@click.option(
    "--settle", type=Seconds(), default=5.0, show_default=True, help="Seconds of quiet before rendering."
)
@collection_options
@limit_options
@election_options
@secure_metrics_options
@log_level_option
def command(
    kubeconfig: Path | None,
    authority: Path | None,
    settle: float,
    collect: bool,
    collect_rate: float,
    keep_served: float,
    keep_young: float,
    keep_newest: int,
    election: Election,
    metrics_listen: Address | None,
    metrics_secure_listen: Address | None,
    metrics_tls: Path,
    log_level: str,
) -> None:
    """Run the controllers: render, node, drain, prune, and where asked for, joining machines.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    import asyncio

    from mco.api import names
    from mco.controllers.process import Controllers, Pace
    from mco.controllers.prune import Collection
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.kube.exposition import Exposition, Secure
    from mco.pki import authority as pki
    from mco.plan.pool.prune import Limits
    from mco.runtime import logging
    from mco.runtime.clock import SystemClock
    from mco.runtime.supervise import supervise

    logging.configure(log_level)

    signer = pki.load(authority / "ca.crt", authority / "ca.key") if authority else None
    clock = SystemClock()
    limits = Limits(served=keep_served, grace=keep_young, newest=keep_newest)
    cluster = load(kubeconfig)
    secure = Secure(metrics_secure_listen, metrics_tls, cluster) if metrics_secure_listen else None
    exposition = Exposition(metrics_listen, secure)
    collection = Collection(enabled=collect, limits=limits, rate=collect_rate)

    async def work(client: Client) -> None:
        pace = Pace(settle=settle)
        controllers = Controllers(client, clock, authority=signer, pace=pace, collection=collection)
        try:
            with exposition.showing(controllers.metrics.families):
                await supervise(controllers.parts, signals=False)
        finally:
            await controllers.close()

    async def run() -> None:
        async with Client(cluster, user_agent="mco-controller") as client:
            leading = election.part(client, names.CONTROLLER_LEASE, work, clock)
            await supervise({"controllers": leading, **exposition.parts()})

    asyncio.run(run())
