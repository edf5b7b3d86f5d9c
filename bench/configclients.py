"""Machines that boot, as load on a config server; run as a process of its own, prints one JSON line.

    python -m bench.configclients load URL CONNECTIONS SECONDS
    python -m bench.configclients slow URL CLIENTS SECONDS

`load` asks again as soon as an answer is complete, on connections that stay open. `slow` opens its clients
evenly over five seconds; each reads 8 KB a second. TLS is the C library's on non-blocking sockets in one
thread: a client must cost less than the server that it measures.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import resource
import selectors
import socket
import ssl
import sys
import time
from typing import Any
from urllib.parse import urlsplit

RATE = 8192
"""Bytes a second that a slow client reads."""
RAMP = 5.0
_TURN = 0.25
_REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/vnd.coreos.ignition+json;version=3.5.0\r\n"
    "User-Agent: Ignition/2.20.0\r\n\r\n"
)


def load(url: str, connections: int, seconds: float) -> dict[str, float]:
    """Requests answered in `seconds`, their bytes and the connections that broke."""
    buffer = memoryview(bytearray(65_536))
    selector = selectors.DefaultSelector()
    request = _request(url)
    clients = [_Client(_connect(url), request) for _ in range(connections)]
    for client in clients:
        client.ask()
        client.socket.setblocking(False)
        selector.register(client.socket, selectors.EVENT_READ, client)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        for key, _ in selector.select(0.1):
            key.data.read(buffer)
    elapsed = time.perf_counter() - started
    return {
        "requests": sum(client.answers for client in clients),
        "bytes": sum(client.bytes for client in clients),
        "broken": sum(client.broken for client in clients),
        "length": clients[0].length,
        "seconds": elapsed,
    }


class _Client:
    def __init__(self, connection: ssl.SSLSocket, request: bytes) -> None:
        self.socket = connection
        self.answers = self.bytes = self.broken = self.length = 0
        self._request = request
        self._left = 0
        self._head = b""

    def ask(self) -> None:
        self._left, self._head = 0, b""
        self.socket.sendall(self._request)

    def read(self, buffer: memoryview) -> None:
        """Everything that is there, asking again after each complete answer."""
        while True:
            try:
                count = self.socket.recv_into(buffer)
            except ssl.SSLWantReadError:
                return
            except OSError:
                count = 0
            if not count:
                self.broken = 1
                return
            self.bytes += count
            if self._left:
                self._left -= count
            else:
                self._start(bytes(buffer[:count]))
            if self._left == 0 and self.length:
                self.answers += 1
                self.ask()

    def _start(self, data: bytes) -> None:
        self._head += data
        head, end, body = self._head.partition(b"\r\n\r\n")
        if not end:
            return
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"the server answered {head[:100]!r}")
        self.length = _length(head)
        self._left = self.length - len(body)


def slow(url: str, clients: int, seconds: float) -> dict[str, Any]:
    """Seconds from the connection to the first byte of each client that saw one, and how many broke."""
    _allow_files()
    machines = [_Machine(url) for _ in range(clients)]
    started = time.monotonic()
    turns = [(started + RAMP * number / clients, number) for number in range(clients)]
    heapq.heapify(turns)
    late = 0.0
    while turns and (now := time.monotonic()) - started < seconds:
        due, number = turns[0]
        if due > now:
            time.sleep(min(due - now, 0.01))
            continue
        late = max(late, now - due)
        pause = machines[number].turn()
        if pause:
            heapq.heapreplace(turns, (now + pause, number))
        else:
            heapq.heappop(turns)
    first = sorted(machine.first for machine in machines if machine.first is not None)
    broken = sum(machine.broken for machine in machines)
    return {"first": first, "silent": clients - len(first), "broken": broken, "late": late}


class _Machine:
    """One machine behind a bad line: it reads 2 KB every quarter of a second."""

    def __init__(self, url: str) -> None:
        self.first: float | None = None
        self.broken = False
        self._url = url
        self._socket: ssl.SSLSocket | None = None
        self._began = 0.0
        self._asked = False

    def turn(self) -> float:
        """Do what can be done without waiting; returns seconds until the next turn, 0 for never."""
        try:
            self._step()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.broken = True
            return 0.0
        return 0.02 if self.first is None else _TURN

    def _step(self) -> None:
        if self._socket is None:
            self._began = time.monotonic()
            self._socket = _connect(self._url, receive_buffer=8192)
            self._socket.setblocking(False)
        if not self._asked:
            self._socket.do_handshake()
            self._socket.sendall(_request(self._url))
            self._asked = True
            return
        if not self._socket.recv(int(RATE * _TURN)):
            raise ConnectionResetError
        if self.first is None:
            self.first = time.monotonic() - self._began


def _connect(url: str, receive_buffer: int = 0) -> ssl.SSLSocket:
    parts = urlsplit(url)
    plain = socket.socket()
    if receive_buffer:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    plain.connect((parts.hostname, parts.port))
    return _CONTEXT.wrap_socket(plain, do_handshake_on_connect=not receive_buffer)


def _context() -> ssl.SSLContext:
    # What is measured is the server; whom it is, is known.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


_CONTEXT = _context()


def _request(url: str) -> bytes:
    parts = urlsplit(url)
    return _REQUEST.format(path=parts.path, host=parts.netloc).encode()


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))


def _allow_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    mode, where, count, duration = sys.argv[1:]
    with contextlib.suppress(KeyboardInterrupt):
        print(json.dumps((load if mode == "load" else slow)(where, int(count), float(duration))))
