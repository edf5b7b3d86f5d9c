"""How long to wait before trying again."""

from __future__ import annotations

import random


class Backoff:
    """`next()` doubles from `first` to `longest` seconds, each reduced by up to half at random so that many
    who failed together do not come back together; `reset()` after a success."""

    def __init__(self, *, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def next(self) -> float:
        wait = min(self._first * 2.0 ** min(self._failures, 32), self._longest)
        self._failures += 1
        return wait * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._failures = 0
