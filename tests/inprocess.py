"""The embedded API server without sockets: requests of a client go straight to its application."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from mco.apiserver.auth.user import MASTERS, User
from mco.apiserver.core import Core
from mco.apiserver.http.app import Application
from mco.apiserver.http.protocol import Connection
from mco.apiserver.server import Settings, application
from mco.kube.client import Client
from mco.kube.requests import Request
from mco.kube.transport import Answer, Stream
from mco.pki import files
from mco.runtime.clock import Clock

_TOKEN = "in-process"


class InProcess:
    """A `Transport` of an administrator; it cannot watch."""

    def __init__(self, app: Application, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def send(self, request: Request) -> Answer:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": request.body or b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(_scope(request), receive, send)
        head, *body = sent
        headers = {key.decode(): value.decode() for key, value in head["headers"]}
        headers["Date"] = format_datetime(self._clock.now(), usegmt=True)
        return Answer(head["status"], headers, b"".join(part.get("body", b"") for part in body))

    def stream(self, request: Request, timeout: float) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    def refused(self) -> None:
        pass

    async def close(self) -> None:
        pass


def _scope(request: Request) -> dict[str, Any]:
    headers = {
        "authorization": f"Bearer {_TOKEN}",
        "content-type": request.content_type,
        "accept": "application/json",
        "content-length": str(len(request.body or b"")),
    }
    return {
        "type": "http",
        "method": request.method,
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": urlencode(request.params).encode(),
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "state": {"connection": Connection(None, lambda: None)},
    }


@contextlib.asynccontextmanager
async def in_process(folder: Path, clock: Clock) -> AsyncIterator[Client]:
    """A client of a server with `clock`."""
    core = Core(files.private_folder(folder), clock.now)
    settings = Settings(data_dir=folder, tokens={_TOKEN: User("admin", frozenset({MASTERS}))})
    try:
        async with Client(InProcess(application(core, settings), clock)) as client:
            yield client
    finally:
        core.close()
