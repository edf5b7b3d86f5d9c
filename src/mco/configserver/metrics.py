"""What a config server tells Prometheus: how many requests there were, what became of them, and how long they
took. The original tells nothing.

Counting must not be felt by a request: two additions in dictionaries, and one search in a short list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from mco.plan.metrics import Distribution, Family, Kind, Metric, single

REQUESTS = Metric(
    "mcs_requests_total",
    "Requests answered; without a pool where there is none of that name, without an Ignition version where"
    " no config was sent",
    ("pool", "code", "version"),
    Kind.COUNTER,
)
JOINS = Metric(
    "mcs_joins_total", "Machines that were given a config, or refused one", ("pool", "result"), Kind.COUNTER
)
DURATION = Metric(
    "mcs_request_duration_seconds",
    "From a request that has arrived to the answer that is ready to be sent",
    kind=Kind.HISTOGRAM,
)
METRICS = (REQUESTS, JOINS, DURATION)

ACCEPTED, REFUSED = "accepted", "refused"
_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0)
_REFUSALS = (401, 403)


class Requests:
    """`known` says whether there is a pool of that name: anybody can ask for any name, and none but a pool's
    is kept. `families` is what a `runtime.metrics.Page` asks for."""

    def __init__(self, known: Callable[[str], bool]) -> None:
        self._known = known
        self._answers: Counter[tuple[str, int, str]] = Counter()
        self._joins: Counter[tuple[str, str]] = Counter()
        self._durations = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def answered(self, pool: str, status: int, version: str, seconds: float) -> None:
        """`version` is that of the config that was sent; empty where only a head was, or nothing."""
        known = pool if self._known(pool) else ""
        self._answers[known, status, version] += 1
        if version:
            self._joins[known, ACCEPTED] += 1
        elif status in _REFUSALS:
            self._joins[known, REFUSED] += 1
        self._durations[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def families(self) -> Iterator[Family]:
        """All of `METRICS`; nothing of pools that are gone."""
        answers: dict[tuple[str, ...], float] = {
            (pool, str(code), version): count
            for (pool, code, version), count in self._answers.items()
            if self._present(pool)
        }
        joins: dict[tuple[str, ...], float] = {
            key: count for key, count in self._joins.items() if self._present(key[0])
        }
        yield Family(REQUESTS, answers)
        yield Family(JOINS, joins)
        yield single(DURATION, Distribution(_BOUNDS, tuple(self._durations), self._seconds))

    def _present(self, pool: str) -> bool:
        return not pool or self._known(pool)
