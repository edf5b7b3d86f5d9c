"""Operators and conversions of CEL itself, with the overflows and texts of the original."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import times
from mco.apiserver.cel.values import (
    NO_OVERLOAD,
    NONE,
    Duration,
    Failure,
    Maybe,
    Opaque,
    Timestamp,
    TypeName,
    UInt,
    equal,
    find,
    is_number,
    order,
    tag_of,
)
from mco.apiserver.schema.patterns import compile_pattern

_INT64, _UINT64 = 2**63, 2**64
_WHOLE = re.compile(r"[-+]?\d+\Z", re.ASCII)
_TRUTHS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _whole(value: int, like: int) -> int:
    """Raises Failure for what does not fit into 64 bits."""
    if isinstance(like, UInt):
        if not 0 <= value < _UINT64:
            raise Failure("unsigned integer overflow")
        return UInt(value)
    if not -_INT64 <= value < _INT64:
        raise Failure("integer overflow")
    return int(value)


def _arithmetic(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is not type(right) or not is_number(left):
            raise Failure(NO_OVERLOAD)
        result = work(left, right)
        return result if isinstance(left, float) else _whole(result, left)

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
    return -value if isinstance(value, float) else _whole(-value, value)


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
    if key != int(key):
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


def _refused(value: Any, wanted: str) -> Failure:
    return Failure(f"type conversion error from '{tag_of(value)}' to '{wanted}'")


def _to_int(value: Any) -> int:
    match value:
        case bool():
            pass
        case int():
            return _whole(value, 0)
        case float():
            if math.isnan(value) or math.isinf(value) or not -_INT64 < value < _INT64:
                raise Failure("integer overflow")
            return int(value)
        case str() if _WHOLE.match(value) and -_INT64 <= int(value) < _INT64:
            return int(value)
        case Timestamp():
            return value.nanos // 10**9
        case Duration():
            return value.nanos
    raise _refused(value, "int")


def _to_uint(value: Any) -> UInt:
    match value:
        case bool():
            pass
        case int() | float():
            if not 0 <= value < _UINT64:
                raise Failure("unsigned integer overflow")
            return UInt(value)
        case str() if value.isascii() and value.isdigit() and int(value) < _UINT64:
            return UInt(value)
    raise _refused(value, "uint")


def _to_double(value: Any) -> float:
    if is_number(value):
        return float(value)
    if isinstance(value, str) and "_" not in value and value == value.strip():
        try:
            return float(value)
        except ValueError:
            pass
    raise _refused(value, "double")


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _TRUTHS:
        return _TRUTHS[value]
    raise _refused(value, "bool")


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    raise _refused(value, "bytes")


def _to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Duration(value)
    try:
        return times.duration(value)
    except (ValueError, TypeError):
        raise _refused(value, "google.protobuf.Duration") from None


def _to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Timestamp(value * 10**9)
    try:
        return times.timestamp(value)
    except (ValueError, TypeError):
        raise _refused(value, "google.protobuf.Timestamp") from None


def text(value: Any) -> str:
    """`string(value)`. Raises Failure for what has no text."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case int() | str():
            return str(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise Failure("invalid UTF-8 in bytes, cannot convert to string") from None
        case Duration():
            return times.duration_text(value)
        case Timestamp():
            return times.timestamp_text(value)
        case TypeName():
            return value.name
        case Opaque() if value.shown:
            return value.shown
    raise _refused(value, "string")


def double_text(value: float) -> str:
    """The shortest digits; with an exponent below 1e-4 and from 1e6 on."""
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    significant = (whole + fraction).lstrip("0")
    if not significant:
        return f"{sign}0"
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(significant))
    significant = significant.rstrip("0")
    if -4 <= point - 1 < 6:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{significant}"
        padded = significant.ljust(point, "0")
        return f"{sign}{padded[:point]}" + (f".{padded[point:]}" if padded[point:] else "")
    tail = f".{significant[1:]}" if significant[1:] else ""
    return f"{sign}{significant[0]}{tail}e{'-' if point < 1 else '+'}{abs(point - 1):02d}"


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "string": text,
    "duration": _to_duration,
    "timestamp": _to_timestamp,
    "dyn": lambda value: value,
    "type": lambda value: TypeName(tag_of(value)),
}


def matches(value: Any, pattern: Any) -> bool:
    if not isinstance(value, str) or not isinstance(pattern, str):
        raise Failure(NO_OVERLOAD)
    try:
        return compile_pattern(pattern).search(value) is not None
    except re.error as error:
        raise Failure(f"error parsing regexp: {error}") from None
