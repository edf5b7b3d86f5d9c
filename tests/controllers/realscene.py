"""The same scene on a real API server, whose clock nobody can move.

What it creates is stamped, on its way to us, with the time of a clock that a test moves, and so are its
answers. Nothing else is changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import msgspec

from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.http import HTTPTransport
from mco.kube.requests import Request
from mco.kube.transport import Answer, Stream, Transport
from mco.runtime.clock import Clock, rfc3339
from tests.controllers.fleet import HandClock
from tests.controllers.scene import Scene, set_up
from tests.servers.real import RealServer


class OtherTime:
    """A `Transport` to a server whose objects were created when they were seen first, by `clock`."""

    def __init__(self, server: Transport, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._created: dict[str, str] = {}

    async def send(self, request: Request) -> Answer:
        answer = await self._server.send(request)
        headers = {**answer.headers, "Date": format_datetime(self._clock.now(), usegmt=True)}
        return Answer(answer.status, headers, self._stamped(answer.body))

    def stream(self, request: Request, timeout: float) -> AbstractAsyncContextManager[Stream]:
        return self._server.stream(request, timeout)

    def refused(self) -> None:
        self._server.refused()

    async def close(self) -> None:
        await self._server.close()

    def _stamped(self, body: bytes) -> bytes:
        found = msgspec.json.decode(body)
        for obj in found.get("items") or [found]:
            self._stamp(obj.get("metadata") or {})
        return msgspec.json.encode(found)

    def _stamp(self, metadata: dict[str, Any]) -> None:
        if uid := metadata.get("uid"):
            now = rfc3339(self._clock.now())
            metadata["creationTimestamp"] = self._created.setdefault(uid, now)


@contextlib.asynccontextmanager
async def real_scene(folder: Path, server: RealServer) -> AsyncIterator[Scene]:
    clock = HandClock()
    async with Client(OtherTime(HTTPTransport(load(server.kubeconfig)), clock)) as client:
        yield await set_up(folder, client, clock)
