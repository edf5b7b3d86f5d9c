"""Conversions of CEL between its types, with the texts of the original."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from mco.apiserver.cel import times
from mco.apiserver.cel.values import Duration, Failure, Opaque, Timestamp, TypeName, UInt, is_number, tag_of

INT64, UINT64 = 2**63, 2**64
_WHOLE = re.compile(r"[-+]?\d{1,100}\Z", re.ASCII)
_NATURAL = re.compile(r"\d{1,100}\Z", re.ASCII)
_TRUTHS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def whole(value: int, like: int) -> int:
    """Raises Failure for what does not fit into 64 bits."""
    if isinstance(like, UInt):
        if not 0 <= value < UINT64:
            raise Failure("unsigned integer overflow")
        return UInt(value)
    if not -INT64 <= value < INT64:
        raise Failure("integer overflow")
    return int(value)


def _refused(value: Any, wanted: str) -> Failure:
    return Failure(f"type conversion error from '{tag_of(value)}' to '{wanted}'")


def _to_int(value: Any) -> int:
    match value:
        case bool():
            pass
        case int():
            return whole(value, 0)
        case float():
            if math.isnan(value) or math.isinf(value) or not -INT64 < value < INT64:
                raise Failure("integer overflow")
            return int(value)
        case str() if _WHOLE.match(value) and -INT64 <= int(value) < INT64:
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
            if not 0 <= value < UINT64:
                raise Failure("unsigned integer overflow")
            return UInt(value)
        case str() if _NATURAL.match(value) and int(value) < UINT64:
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
        return times.in_range(Timestamp(value * 10**9))
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
