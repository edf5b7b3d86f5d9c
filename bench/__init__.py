"""Benchmarks: what the budgets of the design promise, measured.

A module in this package is a benchmark when it has a function `measure() -> Iterator[Measurement]`;
`python -m bench` runs all of them, `python -m bench NAME...` some.
"""

from __future__ import annotations

from typing import NamedTuple


class Measurement(NamedTuple):
    """One line of the result. The value must not exceed `budget`, or, with `at_least`, not stay below it;
    `reference` is a figure to compare with: the original's, or one of the same run on the same machine."""

    what: str
    value: float
    unit: str
    budget: float
    reference: str = ""
    at_least: bool = False

    @property
    def kept(self) -> bool:
        return self.value >= self.budget if self.at_least else self.value <= self.budget
