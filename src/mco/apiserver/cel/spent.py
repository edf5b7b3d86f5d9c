"""What a call really costs, by the sizes of its arguments: texts a tenth a byte, lists each element.

It is known before the work begins, so that what costs too much is not even begun."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mco.apiserver.cel.values import Opaque, size_of

LIST, MAP = 10, 30
_TEXT, _REGEX = 0.1, 0.25
AUTHORIZATION = 350_000
"""So that no expression asks more than twice."""

Charge = Callable[[Sequence[Any]], int]
"""Of the arguments, the receiver first."""


def one(_: Sequence[Any]) -> int:
    return 1


def _scaled(size: int, factor: float = _TEXT) -> int:
    return math.ceil(size * factor)


def _text(args: Sequence[Any]) -> int:
    return _scaled(size_of(args[0]))


def _twice(args: Sequence[Any]) -> int:
    return _scaled(size_of(args[0]), 2 * _TEXT)


def _least(args: Sequence[Any]) -> int:
    if isinstance(args[0], Opaque):
        return 1
    return _scaled(min(size_of(args[0]), size_of(args[1])))


def _regex(args: Sequence[Any]) -> int:
    return _scaled(1 + size_of(args[0])) * _scaled(size_of(args[1]), _REGEX)


def _contains(args: Sequence[Any]) -> int:
    return _scaled(size_of(args[0])) * _scaled(size_of(args[1]))


def _traversal(args: Sequence[Any]) -> int:
    return _weight(args[0])


def _weight(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value.encode() if isinstance(value, str) else value) * _TEXT)
    if isinstance(value, list):
        return sum(map(_weight, value))
    if isinstance(value, dict):
        return sum(_weight(key) + _weight(entry) for key, entry in value.items())
    return 1


def _sum(args: Sequence[Any]) -> int:
    return _scaled(sum(map(size_of, args))) if isinstance(args[0], str | bytes) else 1


def _member(args: Sequence[Any]) -> int:
    return size_of(args[1]) if isinstance(args[1], list) else 1


def _join(args: Sequence[Any]) -> int:
    texts, between = args[0], args[1:]
    if not isinstance(texts, list):
        return 1
    joined = sum(map(size_of, texts)) + sum(map(size_of, between)) * max(len(texts) - 1, 0)
    return _scaled(joined, 2 * _TEXT)


def _network(args: Sequence[Any]) -> int:
    compared = _scaled(2 * size_of(args[0]))
    return compared + (_scaled(size_of(args[1])) if isinstance(args[1], str) else 0)


def _validation(args: Sequence[Any]) -> int:
    return _scaled(1 + size_of(args[1])) * _scaled(128, _REGEX)


def _check(_: Sequence[Any]) -> int:
    return AUTHORIZATION


def _conversion(args: Sequence[Any]) -> int:
    return _scaled(size_of(args[0])) if isinstance(args[0], str | bytes) else 1


def _made(size: int) -> int:
    """The call, and a new list."""
    return 1 + LIST + max(size, 0)


def _number(value: Any) -> int:
    """Nobody has looked yet whether an argument is of the right type."""
    return value if isinstance(value, int) else 0


def _range(args: Sequence[Any]) -> int:
    return _made(_number(args[0]))


def _slice(args: Sequence[Any]) -> int:
    return _made(_number(args[2]) - _number(args[1]))


def _reverse(args: Sequence[Any]) -> int:
    return _made(size_of(args[0]))


def _flatten(args: Sequence[Any]) -> int:
    return _made(size_of(args[0]) * (_number(args[1]) if len(args) > 1 else 1))


def _compared(args: Sequence[Any]) -> int:
    return comparing(args[0])


def comparing(values: Any) -> int:
    """Each with each, as a list is sorted or searched for equals, and a new list."""
    is_text = isinstance(values, list) and bool(values) and isinstance(values[0], str | bytes)
    return _made(int(size_of(values) ** 2 * (2 + _TEXT * is_text)))


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
    "lists.range": _range,
    "slice": _slice,
    "reverse": _reverse,
    "flatten": _flatten,
    **dict.fromkeys(("distinct", "sort"), _compared),
}
"""By function; what is not here costs one."""
