"""Functions by name, chosen by what their arguments are at run time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import lists, times
from mco.apiserver.cel.library import FUNCTIONS, Overload
from mco.apiserver.cel.operators import matches
from mco.apiserver.cel.values import (
    NO_OVERLOAD,
    NONE,
    Failure,
    Implementation,
    Maybe,
    find,
    size_of,
    tag_of,
)


def insert(made: dict[Any, Any], key: Any, value: Any) -> None:
    """Raises Failure for a key that is there already."""
    if find(made, key).held:
        raise Failure(f"insert failed: key {key} already exists")
    made[key] = value


def _inserted(made: dict[Any, Any], key: Any, *value: Any) -> dict[Any, Any]:
    """One entry, or those of another map, in place: nobody else has an accumulator."""
    for name, entry in key.items() if not value else ((key, value[0]),):
        insert(made, name, entry)
    return made


def _size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise Failure(NO_OVERLOAD)
    return size_of(value)


def _text(work: Callable[[str, str], bool]) -> Implementation:
    def apply(value: Any, other: Any) -> bool:
        if not isinstance(value, str) or not isinstance(other, str):
            raise Failure(NO_OVERLOAD)
        return work(value, other)

    return apply


def _getter(name: str) -> Implementation:
    return lambda value, zone="UTC": times.part(name, value, zone)


def _held(value: Any) -> Any:
    if not isinstance(value, Maybe):
        raise Failure(NO_OVERLOAD)
    if not value.held:
        raise Failure("optional.none() dereference")
    return value.held[0]


def _of_non_zero(value: Any) -> Maybe:
    is_zero = value is None or value is False or (not isinstance(value, bool) and _size_or_number(value) == 0)
    return NONE if is_zero else Maybe((value,))


def _size_or_number(value: Any) -> Any:
    return value if isinstance(value, int | float) else size_of(value)


def _subset(values: list[Any], others: list[Any]) -> bool:
    return all(lists.index_of(values, other) >= 0 for other in others)


PLAIN: dict[str, Implementation] = {
    "size": _size,
    "contains": _text(lambda value, part: part in value),
    "startsWith": _text(str.startswith),
    "endsWith": _text(str.endswith),
    "matches": matches,
    **{name: _getter(name) for name in times.GETTERS},
    "hasValue": lambda value: bool(value.held),
    "value": _held,
    "optional.of": lambda value: Maybe((value,)),
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _of_non_zero,
    "first": lists.first,
    "last": lists.last,
    "sets.contains": _subset,
    "sets.equivalent": lambda values, others: _subset(values, others) and _subset(others, values),
    "sets.intersects": lambda values, others: any(lists.index_of(values, other) >= 0 for other in others),
    "cel.@mapInsert": _inserted,
}
"""Of CEL itself and its extensions."""


@functools.cache
def named(name: str, *, member: bool) -> Implementation:
    """Raises Failure, as what it returns does, where nothing fits."""
    overloads = [each for each in FUNCTIONS.get(name, ()) if each.member == member]
    if name in PLAIN and not overloads:
        return guarded(PLAIN[name])
    if not overloads:
        raise Failure(f"unknown function '{name}'")
    return guarded(_Chosen(overloads))


class _Chosen:
    """Remembers which overload is for which types of arguments."""

    def __init__(self, overloads: list[Overload]) -> None:
        self._overloads = overloads
        self._known: dict[tuple[str, ...], Implementation] = {}

    def __call__(self, *args: Any) -> Any:
        tags = tuple(map(tag_of, args))
        work = self._known.get(tags)
        if work is None:
            work = self._known[tags] = self._fitting(tags)
        return work(*args)

    def _fitting(self, tags: tuple[str, ...]) -> Implementation:
        for overload in self._overloads:
            if len(overload.takes) == len(tags) and all(map(_takes, overload.takes, tags)):
                return overload.implementation
        raise Failure(NO_OVERLOAD)


_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "object": "map"}


def _takes(declared: str, tag: str) -> bool:
    return declared == "dyn" or _NAMES.get(declared, declared.partition("<")[0]) == tag


def guarded(work: Implementation) -> Implementation:
    """Implementations say what is wrong with a value by ValueError."""

    def apply(*args: Any) -> Any:
        try:
            return work(*args)
        except ValueError as error:
            raise Failure(str(error)) from None
        except OverflowError:
            raise Failure("a number is out of range") from None
        except (TypeError, AttributeError):
            raise Failure(NO_OVERLOAD) from None

    return apply
