"""uvicorn's HTTP protocol that also knows who is at the other end, and does not wait for requests forever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

RECEIVE_SECONDS = 15.0
_CONNECTION = "connection"


class Connection:
    """What requests may know of their connection: the client's certificate (DER), and when it is lost."""

    __slots__ = ("_on_lost", "abort", "peer")

    def __init__(self, peer: bytes | None, abort: Callable[[], None]) -> None:
        self.peer = peer
        self.abort = abort
        self._on_lost: set[Callable[[], None]] = set()

    def on_lost(self, callback: Callable[[], None]) -> None:
        self._on_lost.add(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        self._on_lost.discard(callback)

    def lost(self) -> None:
        for callback in tuple(self._on_lost):
            callback()


class Protocol(HttpToolsProtocol):
    """A client has `RECEIVE_SECONDS` for the head of its first request; keep-alive bounds later ones."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        session = transport.get_extra_info("ssl_object")
        certificate = session.getpeercert(binary_form=True) if session is not None else None
        self._connection = Connection(certificate, transport.abort)
        # The state of a connection is copied into each of its requests.
        self.app_state = {**self.app_state, _CONNECTION: self._connection}
        self._deadline = self.loop.call_later(RECEIVE_SECONDS, self._too_slow)

    def on_headers_complete(self) -> None:
        self._deadline.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        self._connection.lost()
        super().connection_lost(exc)

    def _too_slow(self) -> None:
        self.transport.abort()


def connection_of(scope: Mapping[str, Any]) -> Connection:
    connection: Connection = scope["state"][_CONNECTION]
    return connection
