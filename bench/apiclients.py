"""Clients of an API server, as load; run as a process of its own, prints one JSON line.

    python -m bench.apiclients SERVER KEYS create COUNT
    python -m bench.apiclients SERVER KEYS write CLIENTS SECONDS
    python -m bench.apiclients SERVER KEYS list TIMES
    python -m bench.apiclients SERVER KEYS watch WATCHERS ROUNDS PID...

SERVER is `host:port`, KEYS a file with certificate and key of an administrator. `create` makes that many
Nodes with 16 clients; `write` patches an annotation of one Node for each client; `list` lists all Nodes;
`watch` counts seconds from a change to the last watcher that has it, and the CPU seconds of the processes.
TLS is the C library's on non-blocking sockets in one thread: a client must cost less than what it measures.
"""

from __future__ import annotations

import json
import selectors
import socket
import ssl
import sys
import time
from collections.abc import Callable

from bench.installation import cpu_seconds
from bench.nodes import name_of, node
from mco.runtime.limits import raise_file_limit

CREATORS = 16
NODES = "/api/v1/nodes"
MAPS = "/api/v1/namespaces/default/configmaps"
WATCHED = "watched"
ROUND_SECONDS = 60.0
_MERGE = "application/merge-patch+json"


class Target:
    def __init__(self, server: str, keys: str) -> None:
        self._host, _, port = server.rpartition(":")
        self._port = int(port)
        # What is measured is the server; whom it is, is known.
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.load_cert_chain(keys)

    def connect(self) -> Connection:
        plain = socket.create_connection((self._host, self._port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Connection(self._context.wrap_socket(plain))


class Connection:
    """One request at a time. `read` takes what has arrived and tells whether the answer is complete."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self.socket = sock
        self.size = 0
        self.asked = 0.0
        self._length: int | None = None
        self._head = self._tail = b""
        sock.setblocking(False)

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> None:
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"
        if body:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        self.size, self._length, self._head, self._tail = 0, None, b"", b""
        self.asked = time.perf_counter()
        self.socket.sendall(head.encode() + b"\r\n" + body)

    def read(self) -> bool:
        while (data := self.receive()) is not None:
            self._head = self._head if self.size else self._head + data
            if not self.size and not self._begin():
                continue
            self.size += len(data)
            self._tail = (self._tail + data)[-5:]
            if self._length is not None and self.size >= self._length:
                return True
            if self._length is None and self._tail == b"0\r\n\r\n":
                return True
        return False

    def _begin(self) -> bool:
        """Whether the head is there; it says how long the answer is, or that it ends by itself."""
        head, end, _ = self._head.partition(b"\r\n\r\n")
        if not end:
            return False
        status = int(head[9:12])
        if status not in (200, 201):
            raise SystemExit(f"the server answered {self._head[:500]!r}")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                self._length = len(head) + 4 + int(line[15:])
        return True

    def receive(self) -> bytes | None:
        """What has arrived; None when there is nothing now."""
        try:
            data = self.socket.recv(262_144)
        except ssl.SSLWantReadError:
            return None
        if not data:
            raise SystemExit("the server closed a connection")
        return data


class Crowd:
    """Connections, each of which asks again as soon as it has its answer, until it has nothing to ask."""

    def __init__(self, target: Target, clients: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.connections = [target.connect() for _ in range(clients)]
        self.latencies: list[float] = []

    def run(self, ask: Callable[[int, Connection], bool]) -> float:
        """Seconds until all are done."""
        began = time.perf_counter()
        busy = 0
        for number, connection in enumerate(self.connections):
            if ask(number, connection):
                self._selector.register(connection.socket, selectors.EVENT_READ, (number, connection))
                busy += 1
        while busy:
            for key, _ in self._selector.select():
                number, connection = key.data
                if not connection.read():
                    continue
                self.latencies.append(time.perf_counter() - connection.asked)
                if not ask(number, connection):
                    self._selector.unregister(connection.socket)
                    busy -= 1
        return time.perf_counter() - began

    def summary(self, seconds: float) -> dict[str, float]:
        ordered = sorted(self.latencies)
        count = len(ordered)
        return {
            "rate": count / seconds,
            "p50": ordered[count // 2] * 1000,
            "p99": ordered[count * 99 // 100] * 1000,
            "size": self.connections[0].size,
        }


def create(target: Target, count: int) -> dict[str, float]:
    bodies = iter([json.dumps(node(number)).encode() for number in range(count)])

    def ask(_: int, connection: Connection) -> bool:
        body = next(bodies, None)
        if body is not None:
            connection.ask("POST", NODES, body)
        return body is not None

    crowd = Crowd(target, CREATORS)
    _make_watched(crowd.connections[0])
    return crowd.summary(crowd.run(ask))


def _make_watched(connection: Connection) -> None:
    connection.ask(
        "POST", MAPS, json.dumps({"metadata": {"name": WATCHED}, "data": {"k": "v" * 1000}}).encode()
    )
    _wait(connection)


def write(target: Target, clients: int, seconds: float) -> dict[str, float]:
    crowd, end = Crowd(target, clients), time.perf_counter() + seconds

    def ask(number: int, connection: Connection) -> bool:
        if time.perf_counter() > end:
            return False
        body = {"metadata": {"annotations": {"bench": str(time.perf_counter_ns())}}}
        connection.ask("PATCH", f"{NODES}/{name_of(number)}", json.dumps(body).encode(), _MERGE)
        return True

    return crowd.summary(crowd.run(ask))


def listing(target: Target, times: int) -> dict[str, float]:
    crowd, left = Crowd(target, 1), iter(range(times))

    def ask(_: int, connection: Connection) -> bool:
        again = next(left, None) is not None
        if again:
            connection.ask("GET", NODES)
        return again

    return crowd.summary(crowd.run(ask))


def watch(target: Target, watchers: int, rounds: int, pids: list[int]) -> dict[str, float]:
    raise_file_limit()
    selector = selectors.DefaultSelector()
    for _ in range(watchers):
        connection = target.connect()
        connection.ask("GET", f"{MAPS}?watch=true")
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    _until_all_have(selector, watchers, WATCHED.encode())
    writer = target.connect()
    before = sum(map(cpu_seconds, pids))
    took = [_round(selector, watchers, writer, number) for number in range(rounds)]
    spent = sum(map(cpu_seconds, pids)) - before
    return {"last": sorted(took)[rounds // 2], "cpu": spent / rounds}


def _round(selector: selectors.BaseSelector, watchers: int, writer: Connection, number: int) -> float:
    mark = f"round-{number}."
    began = time.perf_counter()
    body = json.dumps({"data": {"round": mark}}).encode()
    writer.ask("PATCH", f"{MAPS}/{WATCHED}", body, _MERGE)
    _until_all_have(selector, watchers, mark.encode())
    seconds = time.perf_counter() - began
    _wait(writer)
    return seconds


def _until_all_have(selector: selectors.BaseSelector, watchers: int, mark: bytes) -> None:
    """Each watcher has received the mark, perhaps in two parts."""
    waiting = dict.fromkeys((key.fd for key in selector.get_map().values()), b"")
    deadline = time.perf_counter() + ROUND_SECONDS
    while waiting:
        if time.perf_counter() > deadline:
            raise SystemExit(f"{len(waiting)} of {watchers} watchers did not hear of a change")
        for key, _ in selector.select(1.0):
            while (data := key.data.receive()) is not None:
                if key.fd in waiting:
                    waiting[key.fd] += data
                    if mark in waiting[key.fd]:
                        del waiting[key.fd]


def _wait(connection: Connection) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(connection.socket, selectors.EVENT_READ)
        while not connection.read():
            selector.select()


def main(server: str, keys: str, mode: str, *numbers: str) -> dict[str, float]:
    target, given = Target(server, keys), [int(number) for number in numbers]
    match mode:
        case "create":
            return create(target, *given)
        case "write":
            return write(target, *given)
        case "list":
            return listing(target, *given)
    return watch(target, given[0], given[1], given[2:])


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
