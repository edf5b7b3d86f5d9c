"""Reads metrics as Prometheus does: over HTTP, with the library's own parser."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import msgspec
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from mco.kube.exposition import Exposition
from mco.runtime.metrics import Source
from mco.runtime.scraping import Address
from mco.runtime.supervise import beside

PROCESS = "process_"


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: str


async def ask(url: str, method: str = "GET", **headers: str) -> Answer:
    """One request, to whoever is there; `Connection: close` ends the answer."""
    parts = urlsplit(url)
    tls = ssl._create_unverified_context() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=tls)
    lines = [f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    try:
        writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        return parsed(await reader.read())
    finally:
        writer.close()


def parsed(raw: bytes) -> Answer:
    """Raises ConnectionError for a connection that was closed without an answer."""
    if not raw:
        raise ConnectionResetError
    head, _, body = raw.decode().partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split(" ")[1]), fields, body)


def families(text: str) -> dict[str, Metric]:
    """The component's own by name, without those of any process."""
    found = text_string_to_metric_families(text)
    return {metric.name: metric for metric in found if not metric.name.startswith(PROCESS)}


def series(text: str) -> dict[tuple[str, ...], float]:
    """Values by the sample's name and the values of its labels, these in the order of the labels' names."""
    samples = (sample for metric in families(text).values() for sample in metric.samples)
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for sample in samples
    }


@contextlib.asynccontextmanager
async def exposed(source: Source) -> AsyncIterator[str]:
    """A URL where the source's metrics are."""
    exposition = Exposition(Address("127.0.0.1", 0))
    with exposition.showing(source):
        async with beside(*(part() for part in exposition.parts().values())):
            yield f"http://127.0.0.1:{exposition.port}/metrics"
