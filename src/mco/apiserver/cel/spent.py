"""What a call really costs, by the sizes of its arguments: texts a tenth a byte, lists each element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mco.apiserver.cel.values import Opaque, size_of

LIST, MAP = 10, 30
_TEXT, _REGEX = 0.1, 0.25
AUTHORIZATION = 350_000
"""So that no expression asks more than twice."""

Charge = Callable[[Sequence[Any], Any], int]
"""Arguments, the receiver first, and the result."""


def one(_: Sequence[Any], __: Any) -> int:
    return 1


def _scaled(size: int, factor: float = _TEXT) -> int:
    return math.ceil(size * factor)


def _text(args: Sequence[Any], _: Any) -> int:
    return _scaled(size_of(args[0]))


def _twice(args: Sequence[Any], _: Any) -> int:
    return _scaled(size_of(args[0]), 2 * _TEXT)


def _least(args: Sequence[Any], _: Any) -> int:
    if isinstance(args[0], Opaque):
        return 1
    return _scaled(min(size_of(args[0]), size_of(args[1])))


def _regex(args: Sequence[Any], _: Any) -> int:
    return _scaled(1 + size_of(args[0])) * _scaled(size_of(args[1]), _REGEX)


def _contains(args: Sequence[Any], _: Any) -> int:
    return _scaled(size_of(args[0])) * _scaled(size_of(args[1]))


def _traversal(args: Sequence[Any], _: Any) -> int:
    return _weight(args[0])


def _weight(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value.encode() if isinstance(value, str) else value) * _TEXT)
    if isinstance(value, list):
        return sum(map(_weight, value))
    if isinstance(value, dict):
        return sum(_weight(key) + _weight(entry) for key, entry in value.items())
    return 1


def _sum(args: Sequence[Any], result: Any) -> int:
    return _scaled(size_of(result)) if isinstance(args[0], str | bytes) else 1


def _member(args: Sequence[Any], _: Any) -> int:
    return size_of(args[1]) if isinstance(args[1], list) else 1


def _join(_: Sequence[Any], result: Any) -> int:
    return _scaled(size_of(result), 2 * _TEXT)


def _network(args: Sequence[Any], _: Any) -> int:
    compared = _scaled(2 * size_of(args[0]))
    return compared + (_scaled(size_of(args[1])) if isinstance(args[1], str) else 0)


def _validation(args: Sequence[Any], _: Any) -> int:
    return _scaled(1 + size_of(args[1])) * _scaled(128, _REGEX)


def _check(_: Sequence[Any], __: Any) -> int:
    return AUTHORIZATION


def _conversion(args: Sequence[Any], _: Any) -> int:
    return _scaled(size_of(args[0])) if isinstance(args[0], str | bytes) else 1


CHARGES: dict[str, Charge] = {
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _least),
    **dict.fromkeys(("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _text),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _text),
    **dict.fromkeys(("startsWith", "endsWith", "format", "strings.quote"), _text),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _twice),
    **dict.fromkeys(("matches", "find", "findAll"), _regex),
    **dict.fromkeys(("containsIP", "containsCIDR"), _network),
    **dict.fromkeys(("string", "bytes", "ip"), _conversion),
    "_+_": _sum,
    "@in": _member,
    "contains": _contains,
    "join": _join,
    "validate": _validation,
    "check": _check,
}
"""By function; what is not here costs one."""
