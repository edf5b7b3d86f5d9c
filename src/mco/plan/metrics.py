"""What a component tells Prometheus, as values: which metrics there are, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Metric(msgspec.Struct, frozen=True):
    """`name` is that of its samples: a counter's ends in `_total`, a histogram's stands before `_sum`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: Kind = Kind.GAUGE


class Distribution(msgspec.Struct, frozen=True):
    """`counts` of what was at most each of `bounds` and more than the one before it; the last one, for which
    there is no bound, of what was more than all of them. `total` is the sum of everything."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Family(msgspec.Struct, frozen=True):
    """The series of one metric: values by those of its labels. A histogram's are Distributions, and of no
    other metric."""

    metric: Metric
    series: Mapping[tuple[str, ...], float | Distribution]


def single(metric: Metric, value: float | Distribution) -> Family:
    """Of a metric without labels."""
    return Family(metric, {(): value})
