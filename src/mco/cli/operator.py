"""`mco operator`."""

from __future__ import annotations

from pathlib import Path

import click

from mco.cli.options import kubeconfig_option, leader_elect_option, log_level_option


@click.command()
@kubeconfig_option()
@click.option("--apiserver-url", required=True, help="The API server's URL as machines reach it.")
@click.option(
    "--ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="PEM bundle that machines trust the API server by.",
)
@leader_elect_option
@log_level_option
def command(
    kubeconfig: Path | None, apiserver_url: str, ca: Path, leader_elect: bool, log_level: str
) -> None:
    """Run the operator: CRDs, built-in pools, configuration, one MachineConfigNode per Node.

    Exit codes: 0 stopped by a signal, 1 it cannot run or has failed, 2 wrong usage.
    """
    import asyncio
    from functools import partial

    from mco.api import names
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.kube.leader.run import lead
    from mco.operator import process
    from mco.operator.objects import Installation
    from mco.runtime import logging, version
    from mco.runtime.clock import SystemClock
    from mco.runtime.supervise import supervise

    logging.configure(log_level)
    installation = Installation(server=apiserver_url, ca=ca.read_bytes(), version=version.RAW)
    cluster = load(kubeconfig)
    clock = SystemClock()

    async def work(client: Client) -> None:
        await process.run(client, installation, clock)

    async def run() -> None:
        async with Client(cluster, user_agent="mco-operator") as client:
            part = partial(lead, client, names.OPERATOR_LEASE, work, clock)
            await supervise({"operator": part if leader_elect else partial(work, client)})

    asyncio.run(run())
