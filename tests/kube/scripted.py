"""An HTTP server that does exactly what a test says, down to cutting a connection in the middle of a line.

A test gives it one `answer(asked, wire)` coroutine. `wire` writes to the socket; nothing is added or
repaired.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import json
import socket
import ssl
import struct
import tempfile
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ParamSpec
from urllib.parse import parse_qsl, urlsplit

from mco.kube.config import Cluster
from mco.pki.authority import Authority
from mco.runtime import virtual

P = ParamSpec("P")


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes
    peer: dict[str, Any] | None

    @property
    def watches(self) -> bool:
        return self.params.get("watch") == "true"

    @property
    def version(self) -> str:
        return self.params.get("resourceVersion", "")

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.open = True

    async def json(self, document: Any, code: int = 200, **headers: str) -> None:
        await self.raw(json.dumps(document).encode(), code, **headers)

    async def status(self, code: int, reason: str = "", message: str = "", **headers: str) -> None:
        await self.json(
            {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message},
            code,
            **headers,
        )

    async def raw(self, body: bytes, code: int = 200, **headers: str) -> None:
        extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(f"{head}{extra}\r\n".encode() + body)
        await self._writer.drain()

    async def start_stream(self) -> None:
        self._writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        await self._writer.drain()

    async def send(self, data: bytes) -> None:
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()

    async def event(self, kind: str, obj: Any) -> None:
        await self.send(json.dumps({"type": kind, "object": obj}, ensure_ascii=False).encode() + b"\n")

    async def pass_on(self, data: bytes) -> None:
        """Somebody else's answer, untouched."""
        self._writer.write(data)
        await self._writer.drain()

    async def taken(self) -> None:
        """Returns when the peer's socket has everything that was sent, and the peer had time to read it."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        unsent = struct.Struct("i")
        while unsent.unpack(fcntl.ioctl(raw, termios.TIOCOUTQ, bytes(4)))[0]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)

    async def end_stream(self) -> None:
        """As a server does that is through: the connection stays usable."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def reset(self) -> None:
        """Cut the connection with a TCP reset."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        self.open = False

    def close(self) -> None:
        self._writer.close()
        self.open = False


Answer = Callable[[Asked, Wire], Awaitable[None]]


@dataclass
class ScriptedServer:
    answer: Answer
    context: ssl.SSLContext | None = None
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def cluster(self) -> Cluster:
        scheme = "https" if self.context else "http"
        return Cluster(server=f"{scheme}://127.0.0.1:{self.port}")

    @property
    def watches(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.watches]

    @property
    def lists(self) -> list[Asked]:
        return [asked for asked in self.asked if not asked.watches]

    async def until_watches(self, count: int) -> None:
        """Returns when `count` watches have been asked for."""
        while len(self.watches) < count:
            self._news.clear()
            await self._news.wait()

    async def until_connections(self, count: int) -> None:
        """Returns when exactly `count` connections are open."""
        while len(self._tasks) != count:
            self._news.clear()
            await self._news.wait()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=self.context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """As when the process dies: the port is closed and every connection with it."""
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            wire = Wire(writer)
            while wire.open and (asked := await _read(reader, writer)):
                self.asked.append(asked)
                self._news.set()
                await self.answer(asked, wire)
        except (ConnectionError, asyncio.CancelledError):
            # Cancelled by `stop` only; asyncio's own callback would report it as an error of the test.
            pass
        finally:
            self._tasks.discard(task)
            self._news.set()
            writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    peer = writer.get_extra_info("peercert")
    return Asked(method, url.path, dict(parse_qsl(url.query)), headers, body, peer)


@contextlib.asynccontextmanager
async def scripted(answer: Answer, context: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(answer, context)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def serving(authority: Authority) -> ssl.SSLContext:
    """With a certificate of that authority."""
    pair = authority.server("scripted", ["127.0.0.1"], datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a coroutine test on a loop where waiting costs nothing."""

    @functools.wraps(test)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        virtual.run(test(*args, **kwargs))

    return wrapper


def node(name: str, version: int, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version), "labels": labels}}


def node_list(version: int, *items: dict[str, Any], token: str = "") -> dict[str, Any]:
    return {
        "kind": "NodeList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version), "continue": token},
        "items": list(items),
    }


class Journal:
    """An informer handler that remembers, and that a test can wait on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def __call__(self, old: Any, new: Any) -> None:
        verb = "+" if old is None else "-" if new is None else "~"
        obj = new or old
        self.lines.append(f"{verb}{obj.key}@{obj.metadata.resource_version}")
        self._changed.set()

    async def until(self, line: str) -> None:
        while line not in self.lines:
            self._changed.clear()
            await self._changed.wait()


async def hold() -> None:
    """Keep a stream open until the server stops."""
    await asyncio.Event().wait()
