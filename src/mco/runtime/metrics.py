"""The metrics of a process as the text that Prometheus reads.

Nothing is counted here: whoever has something to tell makes families of values when he is asked. Only a
process that listens imports this file: the library costs a megabyte (docs/metrics.md).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from mco.plan.metrics import Distribution, Family, Kind

Source = Callable[[], Iterable[Family]]
"""Takes what it needs of the present state when it is called; what is left to do, it does when its result is
iterated, in another thread."""


class Page:
    """What the sources say that are shown at the moment, and what the process itself uses, in the text format
    0.0.4."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self._sources: list[Source] = []
        self._process = ProcessCollector(registry=None)

    @contextlib.contextmanager
    def showing(self, source: Source) -> Iterator[None]:
        self._sources.append(source)
        try:
            yield
        finally:
            self._sources.remove(source)

    async def text(self) -> bytes:
        taken = [source() for source in self._sources]
        return await asyncio.to_thread(self._text, taken)

    def _text(self, taken: list[Iterable[Family]]) -> bytes:
        return generate_latest(_Collected(self._process, taken))


class _Collected(Collector):
    """What the library writes out, as it wants to be given it."""

    def __init__(self, process: ProcessCollector, taken: list[Iterable[Family]]) -> None:
        self._process = process
        self._taken = taken

    def collect(self) -> Iterator[Metric]:
        for families in self._taken:
            yield from map(_exposed, families)
        yield from self._process.collect()


def _exposed(family: Family) -> Metric:
    metric = family.metric
    # The library writes a counter's ending itself.
    name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
    exposed = Metric(name, metric.help, metric.kind.value)
    for values, value in family.series.items():
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(value, Distribution):
            _add_distribution(exposed, labels, value)
        else:
            exposed.add_sample(metric.name, labels, value)
    return exposed


def _add_distribution(exposed: Metric, labels: dict[str, str], value: Distribution) -> None:
    bounds = (*map(floatToGoString, value.bounds), "+Inf")
    for bound, count in zip(bounds, accumulate(value.counts), strict=True):
        exposed.add_sample(f"{exposed.name}_bucket", {**labels, "le": bound}, count)
    exposed.add_sample(f"{exposed.name}_count", labels, sum(value.counts))
    exposed.add_sample(f"{exposed.name}_sum", labels, value.total)
