"""A listener that answers `GET /metrics` and nothing else: one request per connection, a few at a time.

On an address that others reach it is given TLS and an `admit`, which is asked for every request.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Protocol

import msgspec

from mco.base.errors import Unavailable
from mco.runtime.logging import Logger

_log = Logger("mco.metrics")

PATH = "/metrics"
_HEAD_LIMIT = 16_384
_SECONDS = 10.0
"""For a handshake, for a request to arrive, and for its answer to be taken."""
_AT_ONCE = 16

Admit = Callable[[str], Awaitable[HTTPStatus]]
"""From the Authorization header: 200, or why not. Never raises."""


class Page(Protocol):
    """What is answered."""

    content_type: str

    async def text(self) -> bytes: ...


class Address(msgspec.Struct, frozen=True):
    """`host` is an IP address, empty for all of them; port 0 takes a free one."""

    host: str
    port: int


class Secured(msgspec.Struct, frozen=True):
    context: ssl.SSLContext
    admit: Admit


class Request(msgspec.Struct, frozen=True):
    method: str
    path: str
    authorization: str


def bind(address: Address, flag: str) -> socket.socket:
    """A socket that listens there. Raises Unavailable, which names the flag, where the address cannot be
    taken."""
    dual = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual or ":" in address.host else socket.AF_INET
    try:
        bound = socket.create_server((address.host, address.port), family=family, dualstack_ipv6=dual)
    except OSError as error:
        raise Unavailable(
            f"cannot listen on port {address.port} for metrics: {error.strerror}",
            path=f"{address.host or '*'}:{address.port}",
            hint=f"stop what listens there, or choose another address with {flag}",
        ) from error
    bound.setblocking(False)
    return bound


def port_of(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port


class Listener:
    """`run` answers on `bound` until it is cancelled."""

    def __init__(self, bound: socket.socket, page: Page, secured: Secured | None = None) -> None:
        self._bound = bound
        self._page = page
        self._secured = secured
        self._answers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        context = self._secured.context if self._secured else None
        server = await asyncio.start_server(
            self._connected,
            sock=self._bound,
            limit=_HEAD_LIMIT,
            ssl=context,
            ssl_handshake_timeout=_SECONDS if context else None,
        )
        host, port = self._bound.getsockname()[0], port_of(self._bound)
        _log.info("metrics can be read", host=host, port=port, tls=self._secured is not None)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for task in self._answers:
                task.cancel()
            await asyncio.gather(*self._answers, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._answers) >= _AT_ONCE:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._converse(reader, writer))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(_SECONDS):
                    request = await _read(reader)
                writer.write(await self._answer(request))
                async with asyncio.timeout(_SECONDS):
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        finally:
            writer.transport.abort()

    async def _answer(self, request: Request | None) -> bytes:
        status = await self._status(request)
        if status is not HTTPStatus.OK:
            return _response(status, _HEADERS.get(status, ""))
        try:
            text = await self._page.text()
        except Exception as error:
            _log.exception("metrics cannot be read", error)
            return _response(HTTPStatus.INTERNAL_SERVER_ERROR)
        return _response(status, f"Content-Type: {self._page.content_type}\r\n", text)

    async def _status(self, request: Request | None) -> HTTPStatus:
        """Whoever may not read learns nothing else either."""
        if request is None:
            return HTTPStatus.BAD_REQUEST
        if self._secured is not None:
            admitted = await self._secured.admit(request.authorization)
            if admitted is not HTTPStatus.OK:
                return admitted
        if request.path != PATH:
            return HTTPStatus.NOT_FOUND
        return HTTPStatus.OK if request.method == "GET" else HTTPStatus.METHOD_NOT_ALLOWED


_HEADERS = {
    HTTPStatus.METHOD_NOT_ALLOWED: "Allow: GET\r\n",
    HTTPStatus.UNAUTHORIZED: "WWW-Authenticate: Bearer\r\n",
}


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """None for what is no request of HTTP/1, or a head that is too large."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    if not version.startswith("HTTP/1."):
        return None
    fields = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return Request(method, target.partition("?")[0], fields.get("authorization", ""))


def _response(status: HTTPStatus, headers: str = "", body: bytes = b"") -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n{headers}"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
