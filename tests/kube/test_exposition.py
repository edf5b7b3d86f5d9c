"""The listener over real sockets: what it answers, and what it does not."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable

import pytest

from mco.base.errors import Unavailable
from mco.kube.exposition import Exposition
from mco.plan.metrics import Distribution, Family, Kind, Metric, single
from mco.runtime.scraping import Address
from mco.runtime.supervise import beside
from tests.scrape import ask, exposed, families, series

TEXT = 'quote " backslash \\ newline \n umlaut ü'
FAMILIES = (
    Family(Metric("met_state", "a gauge", ("node", "reason")), {("n", TEXT): 1.75e9, ("m", ""): 0.0}),
    single(Metric("met_failed_total", "a counter", kind=Kind.COUNTER), 3.0),
    single(Metric("met_odd_total", "a gauge with a counter's name"), 2.0),
    Family(
        Metric("met_seconds", "a histogram", kind=Kind.HISTOGRAM),
        {(): Distribution((0.5, 1.0), (2, 1, 4), 12.5)},
    ),
)


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with exposed(lambda: FAMILIES) as url:
        yield url


async def test_the_page_reads_as_it_was_meant(url: str) -> None:
    answer = await ask(url)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["content-length"] == str(len(answer.body.encode()))
    assert {name: metric.type for name, metric in families(answer.body).items()} == {
        "met_state": "gauge",
        "met_failed": "counter",
        "met_odd_total": "gauge",
        "met_seconds": "histogram",
    }
    assert series(answer.body) == {
        ("met_state", "n", TEXT): 1.75e9,
        ("met_state", "m", ""): 0.0,
        ("met_failed_total",): 3.0,
        ("met_odd_total",): 2.0,
        ("met_seconds_bucket", "0.5"): 2.0,
        ("met_seconds_bucket", "1.0"): 3.0,
        ("met_seconds_bucket", "+Inf"): 7.0,
        ("met_seconds_count",): 7.0,
        ("met_seconds_sum",): 12.5,
    }
    assert "process_resident_memory_bytes" in answer.body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/metrics?name[]=x", 200),
        ("GET", "/", 404),
        ("GET", "/metrics/", 404),
        ("GET", "/debug/pprof", 404),
        ("POST", "/metrics", 405),
        ("HEAD", "/metrics", 405),
        ("DELETE", "/else", 404),
    ],
)
async def test_nothing_else_is_answered(url: str, method: str, path: str, status: int) -> None:
    answer = await ask(url.removesuffix("/metrics") + path, method)
    assert answer.status == status
    assert answer.headers.get("allow") == ("GET" if status == 405 else None)
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    "sent",
    [b"nonsense\r\n\r\n", b"GET /metrics HTTP/2\r\n\r\n", b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 20_000],
)
async def test_what_is_no_request_is_refused(url: str, sent: bytes) -> None:
    port = int(url.split(":")[2].removesuffix("/metrics"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()


async def test_who_says_nothing_keeps_nobody_out_for_ever(url: str) -> None:
    port = int(url.split(":")[2].removesuffix("/metrics"))
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(16)]
    reader, late = await asyncio.open_connection("127.0.0.1", port)
    assert await reader.read() == b""
    for writer in (late, *(writer for _, writer in silent)):
        writer.close()
    async with asyncio.timeout(30):
        while not await _answered(url):
            pass


async def _answered(url: str) -> bool:
    try:
        return (await ask(url)).status == 200
    except OSError:
        return False


async def test_a_source_that_fails_is_an_error_and_not_half_a_page() -> None:
    def broken() -> Iterable[Family]:
        yield FAMILIES[0]
        raise ValueError("broken")

    async with exposed(broken) as url:
        answer = await ask(url)
    assert (answer.status, answer.body) == (500, "")


async def test_nobody_is_told_what_is_not_shown_any_more() -> None:
    exposition = Exposition(Address("127.0.0.1", 0))
    async with beside(*(part() for part in exposition.parts().values())):
        url = f"http://127.0.0.1:{exposition.port}/metrics"
        with exposition.showing(lambda: FAMILIES):
            assert series((await ask(url)).body)
        assert series((await ask(url)).body) == {}


def test_a_port_that_is_taken_names_the_flag() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(Unavailable, match=r"cannot listen on port \d+ for metrics: Address") as caught:
            Exposition(address)
    assert "--metrics-listen" in caught.value.hint


def test_without_an_address_the_library_is_not_there_either() -> None:
    """A daemon has little memory to spend."""
    modules = "mco.cli.daemon, mco.daemon.main, mco.controllers.process, mco.configserver.process"
    code = f"import sys, {modules}; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_an_address_there_is_nothing() -> None:
    exposition = Exposition(None)
    with exposition.showing(lambda: FAMILIES):
        assert (exposition.parts(), exposition.port) == ({}, 0)
