"""Operators of CEL itself, with the overflows and texts of the original."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import times
from mco.apiserver.cel.conversions import text, whole
from mco.apiserver.cel.values import (
    NO_OVERLOAD,
    NONE,
    Duration,
    Failure,
    Maybe,
    Timestamp,
    UInt,
    equal,
    find,
    is_number,
    order,
    tag_of,
)
from mco.apiserver.schema.patterns import compile_pattern


def _arithmetic(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is not type(right) or not is_number(left):
            raise Failure(NO_OVERLOAD)
        result = work(left, right)
        return result if isinstance(left, float) else whole(result, left)

    return apply


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def apply(left: Any, right: Any) -> bool:
        if type(left) is int and type(right) is int:
            return holds(left, right)
        return holds(order(left, right), 0)

    return apply


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right:
            return left / right
        return (
            math.nan
            if left == 0 or math.isnan(left)
            else math.copysign(math.inf, left * math.copysign(1, right))
        )
    if not right:
        raise Failure("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        raise Failure(NO_OVERLOAD)
    if not right:
        raise Failure("modulus by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


_sum, _difference = _arithmetic(operator.add), _arithmetic(operator.sub)


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str | bytes | list) and type(left) is type(right):
        return left + right  # type: ignore[operator]
    if isinstance(left, Duration | Timestamp) and isinstance(right, Duration | Timestamp):
        if isinstance(left, Timestamp) and isinstance(right, Timestamp):
            raise Failure(NO_OVERLOAD)
        return times.plus(left, right)
    return _sum(left, right)


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, Duration | Timestamp) and isinstance(right, Duration | Timestamp):
        if isinstance(left, Duration) and isinstance(right, Timestamp):
            raise Failure(NO_OVERLOAD)
        return times.minus(left, right)
    return _difference(left, right)


def _negated(value: Any) -> Any:
    if isinstance(value, UInt) or not is_number(value):
        raise Failure(NO_OVERLOAD)
    return -value if isinstance(value, float) else whole(-value, value)


def _inverted(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Failure(NO_OVERLOAD)
    return not value


def _contains(element: Any, values: Any) -> bool:
    if isinstance(values, list):
        return any(equal(element, value) for value in values)
    if isinstance(values, dict):
        return bool(find(values, element).held)
    raise Failure(NO_OVERLOAD)


def entry(values: Any, key: Any) -> Any:
    """`values[key]`. Raises Failure where there is none."""
    if isinstance(values, Maybe):
        return optional_entry(values, key)
    found = _entry(values, key)
    if found.held:
        return found.held[0]
    if isinstance(values, dict):
        raise Failure(f"no such key: {text(key)}")
    raise Failure(f"index out of bounds: {text(key)}")


def optional_entry(values: Any, key: Any) -> Maybe:
    """`values[?key]`, and `values.?key`."""
    if isinstance(values, Maybe):
        return optional_entry(values.held[0], key) if values.held else NONE
    return _entry(values, key)


def _entry(values: Any, key: Any) -> Maybe:
    if isinstance(values, dict):
        return find(values, key)
    if not isinstance(values, list):
        raise Failure(NO_OVERLOAD)
    if not is_number(key):
        raise Failure(f"unsupported index type '{tag_of(key)}' in list")
    if not float(key).is_integer():
        raise Failure(f"unsupported index value {text(key)} in list")
    return Maybe((values[int(key)],)) if 0 <= key < len(values) else NONE


OPERATORS: dict[str, Callable[..., Any]] = {
    "_+_": _plus,
    "_-_": _minus,
    "_*_": _arithmetic(operator.mul),
    "_/_": _arithmetic(_divided),
    "_%_": _arithmetic(_modulo),
    "-_": _negated,
    "!_": _inverted,
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": _ordered(operator.lt),
    "_<=_": _ordered(operator.le),
    "_>_": _ordered(operator.gt),
    "_>=_": _ordered(operator.ge),
    "@in": _contains,
    "_[_]": entry,
    "_[?_]": optional_entry,
    "_?._": optional_entry,
}


def matches(value: Any, pattern: Any) -> bool:
    if not isinstance(value, str) or not isinstance(pattern, str):
        raise Failure(NO_OVERLOAD)
    try:
        return compile_pattern(pattern).occurs_in(value)
    except re.error as error:
        raise Failure(str(error)) from None
