"""Functions on lists of the Kubernetes CEL library."""

from __future__ import annotations

import datetime
import itertools
from typing import Any


def is_sorted(values: list[Any]) -> bool:
    return all(_ordered(left, right) for left, right in itertools.pairwise(values))


def total(values: list[Any]) -> Any:
    if not values:
        return 0
    if isinstance(values[0], datetime.timedelta):
        return sum(values, datetime.timedelta())
    if not all(_number(value) for value in values):
        raise ValueError("no such overload")
    return sum(values)


def smallest(values: list[Any]) -> Any:
    return _extreme("min", values, least=True)


def largest(values: list[Any]) -> Any:
    return _extreme("max", values, least=False)


def index_of(values: list[Any] | str, wanted: Any, start: int = 0) -> int:
    if isinstance(values, str):
        if not 0 <= start <= len(values):
            raise ValueError(f"index out of range: {start}")
        return values.find(wanted, start)
    return next((i for i, value in enumerate(values) if _same(value, wanted)), -1)


def last_index_of(values: list[Any] | str, wanted: Any, end: int | None = None) -> int:
    if isinstance(values, str):
        if end is not None and not 0 <= end <= len(values):
            raise ValueError(f"index out of range: {end}")
        return values.rfind(wanted) if end is None else values.rfind(wanted, 0, end + len(wanted))
    return next((i for i in range(len(values) - 1, -1, -1) if _same(values[i], wanted)), -1)


def distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(_same(value, other) for other in kept):
            kept.append(value)
    return kept


def flatten(values: list[Any], depth: int = 1) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += flatten(value, depth - 1) if isinstance(value, list) and depth > 0 else [value]
    return flat


def sort(values: list[Any]) -> list[Any]:
    if not is_comparable(values):
        raise ValueError("list elements must have the same type")
    return sorted(values)


def is_comparable(values: list[Any]) -> bool:
    return len({type(value) for value in values}) <= 1


def part(values: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise ValueError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise ValueError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def backwards(values: list[Any]) -> list[Any]:
    return values[::-1]


def _extreme(name: str, values: list[Any], *, least: bool) -> Any:
    if not values:
        raise ValueError(f"{name} called on empty list")
    found = values[0]
    for value in values[1:]:
        smaller, larger = (value, found) if least else (found, value)
        if _ordered(smaller, larger):
            found = value
    return found


def _ordered(left: Any, right: Any) -> bool:
    if type(left) is not type(right) and not (_number(left) and _number(right)):
        raise ValueError("no such overload")
    return bool(left <= right)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
