"""`mco operator`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="How to reach the API server.")
@click.option("--apiserver-url", required=True, help="The API server's URL as machines reach it.")
@click.option(
    "--ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="PEM bundle that machines trust the API server by.",
)
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning or error.")
def command(kubeconfig: Path | None, apiserver_url: str, ca: Path, log_level: str) -> None:
    """Run the operator: CRDs, built-in pools, configuration, one MachineConfigNode per Node."""
    import asyncio

    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.operator import process
    from mco.operator.objects import Installation
    from mco.runtime import logging, version
    from mco.runtime.clock import SystemClock
    from mco.runtime.supervise import supervise

    logging.configure(log_level)
    installation = Installation(server=apiserver_url, ca=ca.read_bytes(), version=version.RAW)

    async def run() -> None:
        async with Client(load(kubeconfig), user_agent="mco-operator") as client:
            await supervise({"operator": lambda: process.run(client, installation, SystemClock())})

    asyncio.run(run())
