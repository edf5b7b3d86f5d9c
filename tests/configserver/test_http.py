"""The front over real sockets: routes, negotiation, HTTP itself."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from mco.base.errors import Unavailable
from mco.configserver.admission import Admission
from mco.configserver.front import Front
from mco.configserver.limits import Limits
from mco.configserver.prepared import Prepared
from mco.configserver.server import Server
from mco.runtime.clock import SystemClock
from tests.configserver.clients import TOKEN, ask, connected, fixed_front, prepared, served

IGNITION = "application/vnd.coreos.ignition+json;version="
SIZE = 200_000
BODY = b"".join(prepared(SIZE).body(TOKEN))


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with served(fixed_front(SIZE)) as (_, port):
        yield port


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_config_is_served_with_its_exact_length(port: int, method: str) -> None:
    answer = await ask(port, method, "/config/worker", Accept=IGNITION + "3.5.0")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["content-length"] == str(SIZE)
    assert "date" in answer.headers
    assert answer.body == (BODY if method == "GET" else b"")


async def test_bytes_that_are_not_there_are_prepared_first(port: int) -> None:
    answer = await ask(port, "GET", "/config/worker", Accept=IGNITION + "3.3.0")
    assert (answer.status, answer.body) == (200, BODY)


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("POST", "/healthz", 405),
        ("GET", "/", 404),
        ("HEAD", "/", 404),
        ("POST", "/", 405),
        ("GET", "/config", 307),
        ("GET", "/config/", 404),
        ("GET", "/config//worker", 307),
        ("POST", "/config//worker", 307),
        ("GET", "/config/a/b", 404),
        ("POST", "/config/worker", 405),
        ("GET", "/config/nobody", 404),
    ],
)
async def test_answers_without_a_config_are_empty(port: int, method: str, target: str, status: int) -> None:
    answer = await ask(port, method, target)
    assert (answer.status, answer.headers["content-length"], answer.body) == (status, "0", b"")
    assert ("location" in answer.headers) == (status == 307)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize("version", ["3.0.0", "4.0.0", "2.1.0"])
async def test_a_version_that_cannot_be_served_is_a_bad_request(port: int, version: str) -> None:
    answer = await ask(port, "GET", "/config/worker", Accept=IGNITION + version)
    assert (answer.status, answer.headers["content-length"]) == (400, "0")


class Broken:
    def ready(self, pool: str, version: str) -> Prepared | None:
        if pool == "worker":
            raise ZeroDivisionError
        return None

    async def prepare(self, pool: str, version: str) -> Prepared:
        raise ZeroDivisionError


@pytest.mark.parametrize("pool", ["worker", "later"])
async def test_a_fault_of_ours_is_an_empty_500_and_the_connection_goes_on(pool: str) -> None:
    front = Front(Broken(), lambda *_: Admission(TOKEN), SystemClock())
    async with served(front) as (_, port), connected(port) as wire:
        answer = await wire.ask("GET", f"/config/{pool}")
        assert (answer.status, answer.headers["content-length"]) == (500, "0")
        assert (await wire.ask("GET", "/healthz")).status == 200


async def test_one_connection_serves_many_requests_in_order(port: int) -> None:
    async with connected(port) as wire:
        for _ in range(3):
            assert (await wire.ask("GET", "/config/worker", Accept=IGNITION + "3.5.0")).body == BODY
            assert (await wire.ask("HEAD", "/config/worker", Accept=IGNITION + "3.5.0")).status == 200


async def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    async with connected(port) as wire:
        targets = ["/healthz", "/config/worker", "/nothing", "/config/worker", "/healthz"] * 20
        for target in targets:
            await wire.send("GET", target, Accept=IGNITION + "3.5.0")
        expected = {"/healthz": 200, "/config/worker": 200, "/nothing": 404}
        assert [(await wire.answer()).status for _ in targets] == [expected[target] for target in targets]


async def test_connection_close_is_honoured(port: int) -> None:
    async with connected(port) as wire:
        answer = await wire.ask("GET", "/config/worker", Accept=IGNITION + "3.5.0", Connection="close")
        assert (answer.body, answer.headers["connection"]) == (BODY, "close")
        await wire.closed()


async def test_http_1_0_is_answered_and_closed(port: int) -> None:
    async with connected(port) as wire:
        wire.writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert (await wire.answer()).status == 200
        await wire.closed()


async def test_a_body_is_ignored(port: int) -> None:
    async with connected(port) as wire:
        wire.writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
        assert (await wire.answer()).status == 200
        assert (await wire.ask("GET", "/healthz")).status == 200


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_what_is_not_http_1_is_refused_and_closed(port: int, junk: bytes) -> None:
    async with connected(port) as wire:
        wire.writer.write(junk)
        assert (await wire.answer()).status == 400
        await wire.closed()


async def test_an_upgrade_is_not_offered(port: int) -> None:
    async with connected(port) as wire:
        answer = await wire.ask("GET", "/healthz", Connection="Upgrade", Upgrade="h2c")
        assert answer.status == 200


async def test_endless_headers_are_cut_off(port: int) -> None:
    async with connected(port) as wire:
        wire.writer.write(b"GET / HTTP/1.1\r\n" + b"X-Padding: " + b"x" * 100_000)
        assert (await wire.answer()).status == 431
        await wire.closed()


async def test_several_accept_headers_are_one_list(port: int) -> None:
    async with connected(port) as wire:
        wire.writer.write(
            b"GET /config/worker HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n"
            b"Accept: application/vnd.coreos.ignition+json;version=4.0.0\r\n\r\n"
        )
        assert (await wire.answer()).status == 400


async def test_too_many_connections_do_not_take_the_others_down() -> None:
    async with served(fixed_front(), Limits(connections=2)) as (server, port):
        async with connected(port) as first, connected(port) as second:
            assert (await first.ask("GET", "/healthz")).status == 200
            assert (await second.ask("GET", "/healthz")).status == 200
            async with connected(port) as third:
                await third.closed()
            assert (await first.ask("GET", "/healthz")).status == 200
        await asyncio.wait_for(server.empty(), 5)
        assert (await ask(port, "GET", "/healthz")).status == 200


async def test_closing_lets_an_answer_under_way_finish() -> None:
    server = Server(fixed_front(4_000_000).answer)
    port = await server.listen("127.0.0.1", 0)
    async with connected(port) as wire, connected(port) as idle:
        await idle.ask("GET", "/healthz")
        await wire.send("GET", "/config/worker", Accept=IGNITION + "3.5.0")
        await wire.reader.readexactly(1000)
        closing = asyncio.create_task(server.close(grace=10))
        await idle.closed()
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", port)
        rest = await wire.reader.read()
        assert rest.endswith(b">")
        await closing


async def test_closing_cuts_off_who_does_not_finish() -> None:
    server = Server(fixed_front(8_000_000).answer)
    port = await server.listen("127.0.0.1", 0)
    async with connected(port) as wire:
        await wire.send("GET", "/config/worker", Accept=IGNITION + "3.5.0")
        await wire.reader.readexactly(1000)
        await server.close(grace=0.05)
        await asyncio.wait_for(server.empty(), 5)
        assert len(await wire.reader.read()) < 8_000_000


async def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(Unavailable) as error:
            await Server(fixed_front().answer).listen("127.0.0.1", number)
    assert error.value.path == f"127.0.0.1:{number}"


async def test_all_addresses_are_both_families() -> None:
    server = Server(fixed_front().answer)
    port = await server.listen("", 0)
    try:
        for host in ("127.0.0.1", *(["::1"] if socket.has_dualstack_ipv6() else [])):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            writer.close()
    finally:
        await server.close(grace=0)
