"""One evaluation of an expression: its variables, what it has cost, and what it may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class OutOfBudget(Exception):
    """The expression costs more than one call may."""


class Frame:
    __slots__ = ("cost", "limit", "names")

    def __init__(self, names: Mapping[str, Any], limit: int) -> None:
        self.names = dict(names)
        self.cost = 0
        self.limit = limit

    def check(self) -> None:
        """Raises OutOfBudget."""
        if self.cost > self.limit:
            raise OutOfBudget


Step = Callable[[Frame], Any]
"""A part of an expression, ready to run."""
