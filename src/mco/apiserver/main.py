"""Runs a server until it is told to stop."""

from __future__ import annotations

from pathlib import Path

import uvloop

from mco.apiserver.auth.tokens import read_token_file
from mco.apiserver.server import Settings, running
from mco.runtime.limits import raise_file_limit
from mco.runtime.logging import Logger
from mco.runtime.supervise import supervise

_log = Logger("mco.apiserver")


def run(
    data_dir: Path, *, port: int, bind: tuple[str, ...], names: tuple[str, ...], token_file: Path | None
) -> None:
    """Blocks until SIGTERM or SIGINT. Raises the errors of `running` and `read_token_file`."""
    tokens = read_token_file(token_file) if token_file else {}
    settings = Settings(data_dir=data_dir, port=port, bind=bind, names=names, tokens=tokens)
    raise_file_limit()
    uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    async with running(settings) as server:
        _log.info("serving the API", url=server.url, kubeconfig=str(server.kubeconfig))
        await supervise({"apiserver": server.failed})
