"""One HTTP/1.1 connection: reads requests with httptools, writes answers chunk by chunk.

An answer is never handed to the transport as a whole: the next chunk goes out when the transport has room,
so a slow client costs its buffers and not a copy of a megabyte. At most one timer runs at any time: for
receiving, for being idle, or for a client that takes nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import cast

import httptools

from mco.configserver.front import Request, Response
from mco.configserver.limits import Limits
from mco.configserver.wire import chunks, head

Answer = Callable[[Request], Response | Awaitable[Response]]

_READ_HEADERS = {b"accept": "accept", b"authorization": "authorization", b"user-agent": "user_agent"}


class Connections:
    """The open connections of a server."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._open))

    def add(self, connection: Connection) -> None:
        self._open.add(connection)
        self._none.clear()

    def discard(self, connection: Connection) -> None:
        self._open.discard(connection)
        if not self._open:
            self._none.set()

    async def gone(self) -> None:
        """Returns once no connection is open."""
        await self._none.wait()


class Connection(asyncio.Protocol):
    def __init__(self, answer: Answer, limits: Limits, connections: Connections) -> None:
        self._answer = answer
        self._limits = limits
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._peer = ""
        self._timer: asyncio.TimerHandle | None = None
        # Reading
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: dict[str, str] = {}
        self._received = 0
        self._reading = False
        self._keep_alive = True
        self._waiting: deque[tuple[Request, bool]] = deque()
        # Writing
        self._busy = False
        self._paused = False
        self._last = False
        self._chunks: Iterator[bytes | memoryview] = iter(())
        self._task: asyncio.Task[None] | None = None

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods but not the base class.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
        self._connections.add(self)
        if len(self._connections) > self._limits.connections:
            self.abort()
            return
        # What the kernel does not take waits here: one chunk for each slow client, by default 64 KiB more.
        self._transport.set_write_buffer_limits(high=0)
        self._arm(self._limits.receive, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._disarm()
        # The parser knows this object: without the cut, both would wait for the garbage collector.
        self._parser = None
        self._chunks = iter(())
        self._waiting.clear()
        if self._task:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._last or self._parser is None:
            return
        if not self._reading:
            self._reading = True
            self._received = 0
            if not self._busy:
                self._arm(self._limits.receive, self._transport.abort)
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Nothing here speaks anything else: the request is answered as it is.
            self._finish_after_waiting()
        except httptools.HttpParserError:
            self._reject(HTTPStatus.BAD_REQUEST)
        else:
            if self._reading and self._received > self._limits.request:
                self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._paused = True
        self._arm(self._limits.stall, self._transport.abort)

    def resume_writing(self) -> None:
        self._paused = False
        if self._busy:
            self._disarm()
            self._write_chunks()

    # The parser's side

    def on_message_begin(self) -> None:
        self._reading = True
        self._target = b""
        self._headers = {}

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        field = _READ_HEADERS.get(name.lower())
        if field is None:
            return
        text = value.decode("latin-1")
        # Several Accept headers are one list (RFC 9110, 5.3).
        self._headers[field] = f"{self._headers[field]}, {text}" if field in self._headers else text

    def on_message_complete(self) -> None:
        assert self._parser is not None
        self._reading = False
        self._received = 0
        request = Request(
            method=self._parser.get_method().decode("ascii"),
            target=self._target.decode("latin-1"),
            peer=self._peer,
            **self._headers,
        )
        keep_alive = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"
        self._waiting.append((request, keep_alive))
        if len(self._waiting) >= self._limits.pipelined:
            self._transport.pause_reading()
        if not self._busy:
            self._next()

    # Answers

    def finish(self) -> None:
        """Close as soon as nothing is being answered."""
        self._last = True
        self._waiting.clear()
        if not self._busy:
            self._close()

    def abort(self) -> None:
        self._transport.abort()

    def _next(self) -> None:
        self._disarm()
        self._busy = True
        request, self._keep_alive = self._waiting.popleft()
        answer = self._answer(request)
        if isinstance(answer, Response):
            self._start(request, answer)
        else:
            self._task = self._loop.create_task(self._start_later(request, answer))

    async def _start_later(self, request: Request, answer: Awaitable[Response]) -> None:
        response = await answer
        self._task = None
        self._start(request, response)

    def _start(self, request: Request, response: Response) -> None:
        start = head(response, close=self._last or not self._keep_alive)
        body = () if request.method == "HEAD" else response.body
        self._chunks = chunks(start, body, self._limits.chunk)
        self._write_chunks()

    def _write_chunks(self) -> None:
        while not self._paused:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._finished()
                return
            self._transport.write(chunk)

    def _finished(self) -> None:
        self._busy = False
        if self._last or not self._keep_alive:
            self._close()
            return
        if len(self._waiting) < self._limits.pipelined:
            self._transport.resume_reading()
        if self._waiting:
            # Not at once: a client that sends many small requests must not keep the loop for itself.
            self._busy = True
            self._loop.call_soon(self._next_if_open)
        else:
            self._arm(self._limits.receive if self._reading else self._limits.idle, self._close)

    def _next_if_open(self) -> None:
        if self._waiting and not self._transport.is_closing():
            self._next()

    def _reject(self, status: HTTPStatus) -> None:
        self._last = True
        self._waiting.clear()
        if self._busy:
            return
        self._transport.write(head(Response(status), close=True))
        self._close()

    def _finish_after_waiting(self) -> None:
        if self._waiting:
            self._waiting[-1] = (self._waiting[-1][0], False)
        else:
            self._keep_alive = False

    def _close(self) -> None:
        """Close after what is buffered has gone out; a client that does not take it is cut off."""
        self._last = True
        self._transport.close()
        self._arm(self._limits.stall, self._transport.abort)

    def _arm(self, seconds: float, action: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self._loop.call_later(seconds, action)

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
