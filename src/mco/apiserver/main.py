"""Runs a server until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import uvloop

from mco.apiserver.auth.tokens import read_token_file
from mco.apiserver.server import Settings, running

log = logging.getLogger("mco.apiserver")


def run(
    data_dir: Path, *, port: int, bind: tuple[str, ...], names: tuple[str, ...], token_file: Path | None
) -> None:
    """Blocks until SIGTERM or SIGINT; raises the errors of `running`."""
    tokens = read_token_file(token_file) if token_file else {}
    settings = Settings(data_dir=data_dir, port=port, bind=bind, names=names, tokens=tokens)
    uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings) as server:
        log.info("serving the API at %s, kubeconfig %s", server.url, server.kubeconfig)
        await stop.wait()
        log.info("stopping")
