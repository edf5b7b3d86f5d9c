"""Functions on lists of the Kubernetes CEL library."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from mco.apiserver.cel.frame import OutOfBudget
from mco.apiserver.cel.operators import OPERATORS
from mco.apiserver.cel.values import NONE, Failure, Maybe, equal, order

LONGEST = 1_000_000
"""A list that costs more to look at than one expression may."""


def is_sorted(values: list[Any]) -> bool:
    return all(order(left, right) <= 0 for left, right in itertools.pairwise(values))


def total(values: list[Any]) -> Any:
    return functools.reduce(OPERATORS["_+_"], values) if values else 0


def smallest(values: list[Any]) -> Any:
    return _extreme("min", values, -1)


def largest(values: list[Any]) -> Any:
    return _extreme("max", values, 1)


def first(values: list[Any]) -> Maybe:
    return Maybe((values[0],)) if values else NONE


def last(values: list[Any]) -> Maybe:
    return Maybe((values[-1],)) if values else NONE


def unwrapped(values: list[Any]) -> list[Any]:
    """What is in those optional values that have something."""
    return [value.held[0] for value in values if value.held]


def numbers(count: int) -> list[int]:
    """From zero on."""
    return list(range(count))


def index_of(values: list[Any] | str, wanted: Any, start: int = 0) -> int:
    if isinstance(values, str):
        if start < 0:
            raise ValueError(f"index out of range: {start}")
        return values.find(wanted, start)
    return next((i for i, value in enumerate(values) if equal(value, wanted)), -1)


def last_index_of(values: list[Any] | str, wanted: Any, end: int | None = None) -> int:
    if isinstance(values, str):
        if end is not None and end < 0:
            raise ValueError(f"index out of range: {end}")
        return values.rfind(wanted) if end is None else values.rfind(wanted, 0, end + len(wanted))
    return next((i for i in range(len(values) - 1, -1, -1) if equal(values[i], wanted)), -1)


def distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in kept):
            kept.append(value)
    return kept


def flatten(values: list[Any], depth: int = 1) -> list[Any]:
    """Raises ValueError, OutOfBudget."""
    if depth < 0:
        raise ValueError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        flat += flatten(value, depth - 1) if isinstance(value, list) and depth > 0 else [value]
        if len(flat) > LONGEST:
            raise OutOfBudget
    return flat


def sort(values: list[Any]) -> list[Any]:
    return sorted_by(values, values)


def sorted_by(values: list[Any], keys: list[Any]) -> list[Any]:
    """Raises Failure for keys without an order among them."""
    if len({type(key) for key in keys}) > 1:
        raise Failure("list elements must have the same type")
    ordered = functools.cmp_to_key(order)
    return [values[index] for index in sorted(range(len(values)), key=lambda index: ordered(keys[index]))]


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


def _extreme(name: str, values: list[Any], wanted: int) -> Any:
    if not values:
        raise ValueError(f"{name} called on empty list")
    found = values[0]
    for value in values[1:]:
        if order(value, found) == wanted:
            found = value
    return found
