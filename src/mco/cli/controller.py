"""`mco controller`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="How to reach the API server.")
@click.option(
    "--authority",
    type=click.Path(path_type=Path),
    help="Folder with ca.crt and ca.key: let machines in, as an embedded API server needs it.",
)
@click.option(
    "--settle", type=float, default=5.0, show_default=True, help="Seconds of quiet before rendering."
)
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning or error.")
def command(kubeconfig: Path | None, authority: Path | None, settle: float, log_level: str) -> None:
    """Run the controllers: render, node, drain, and where asked for, joining machines."""
    import asyncio

    from mco.controllers.process import Controllers, Pace
    from mco.kube.client import Client
    from mco.kube.config import load
    from mco.pki import authority as pki
    from mco.runtime import logging
    from mco.runtime.clock import SystemClock
    from mco.runtime.supervise import supervise

    logging.configure(log_level)

    async def run() -> None:
        signer = pki.load(authority / "ca.crt", authority / "ca.key") if authority else None
        async with Client(load(kubeconfig), user_agent="mco-controller") as client:
            pace = Pace(settle=settle)
            controllers = Controllers(client, SystemClock(), authority=signer, pace=pace)
            await supervise(controllers.parts)

    asyncio.run(run())
