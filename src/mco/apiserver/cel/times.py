"""Timestamps and durations of CEL: from text, to text, and their parts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from mco.apiserver.cel.values import NO_OVERLOAD, Duration, Failure, Timestamp

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_DURATION = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)\Z", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)\Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253402300800 * 10**9
_FIRST = -62135596800 * 10**9
_INT64 = 2**63


def duration(text: str) -> Duration:
    """Raises ValueError for what is none."""
    if not _DURATION.match(text):
        raise ValueError
    nanos = sum(int(Fraction(number) * _UNITS[unit]) for number, unit in _PART.findall(text))
    if nanos >= _INT64:
        raise ValueError
    return Duration(-nanos if text.startswith("-") else nanos)


def timestamp(text: str) -> Timestamp:
    """RFC 3339. Raises ValueError for what is none."""
    match = _TIMESTAMP.match(text)
    if match is None:
        raise ValueError
    day, clock, fraction, zone = match.groups()
    at = datetime.fromisoformat(f"{day}T{clock}{zone}")
    return Timestamp(_nanos(at - _EPOCH) + int((fraction or "0").ljust(9, "0")[:9]))


def _nanos(delta: timedelta) -> int:
    return (delta.days * 86400 + delta.seconds) * 10**9 + delta.microseconds * 1000


def duration_text(value: Duration) -> str:
    """In seconds, as `5400s`."""
    return f"{'-' if value.nanos < 0 else ''}{_decimal(abs(value.nanos), 10**9)}s"


def timestamp_text(value: Timestamp) -> str:
    seconds, nanos = divmod(value.nanos, 10**9)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{(_EPOCH + timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S').rjust(19, '0')}{fraction}Z"


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)


def plus(left: Any, right: Any) -> Any:
    """Of a time and a duration, or of two durations. Raises Failure for a sum that is out of range."""
    nanos = left.nanos + right.nanos
    if isinstance(left, Timestamp) or isinstance(right, Timestamp):
        return in_range(Timestamp(nanos))
    return _bounded(nanos)


def minus(left: Any, right: Any) -> Any:
    nanos = left.nanos - right.nanos
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return in_range(Timestamp(nanos))
    return _bounded(nanos)


def in_range(value: Timestamp) -> Timestamp:
    """Raises Failure before the year 1 and after 9999."""
    if not _FIRST <= value.nanos < _LAST:
        raise Failure("timestamp overflow")
    return value


def _bounded(nanos: int) -> Duration:
    if not -_INT64 <= nanos < _INT64:
        raise Failure("duration overflow")
    return Duration(nanos)


def _zone(name: str) -> tzinfo:
    """Raises Failure for a zone that nobody knows."""
    if match := _OFFSET.match(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        raise Failure(f"unknown time zone {name}") from None


_PARTS = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_LENGTHS = {
    "getHours": 3600 * 10**9,
    "getMinutes": 60 * 10**9,
    "getSeconds": 10**9,
    "getMilliseconds": 10**6,
}
GETTERS = frozenset(_PARTS)


def part(name: str, value: Any, zone: str = "UTC") -> int:
    """`name` is one of `GETTERS`. Raises Failure."""
    if isinstance(value, Timestamp):
        at = _EPOCH + timedelta(microseconds=value.nanos // 1000)
        return int(_PARTS[name](at.astimezone(_zone(zone))))
    if isinstance(value, Duration) and name in _LENGTHS:
        nanos = value.nanos % 10**9 if name == "getMilliseconds" else value.nanos
        return int(nanos / _LENGTHS[name]) if nanos < 0 else nanos // _LENGTHS[name]
    raise Failure(NO_OVERLOAD)
