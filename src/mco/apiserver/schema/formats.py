"""String formats that a schema may demand. A format that is not listed here is not checked."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)
_DURATION = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*\Z"
)
_HOSTNAME = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\Z"
)


def _date_time(text: str) -> None:
    if not _DATE_TIME.match(text):
        raise ValueError
    datetime.fromisoformat(text[:19])


def _date(text: str) -> None:
    if len(text) != 10:
        raise ValueError
    date.fromisoformat(text)


def _byte(text: str) -> None:
    base64.b64decode(text, validate=True)


def _match(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not pattern.match(text):
            raise ValueError

    return check


_CHECKS: dict[str, Callable[[str], object]] = {
    "byte": _byte,
    "cidr": lambda text: ipaddress.ip_network(text, strict=False),
    "date": _date,
    "date-time": _date_time,
    "duration": _match(_DURATION),
    "hostname": _match(_HOSTNAME),
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "uuid": uuid.UUID,
}


def check_of(name: str) -> Callable[[str], bool] | None:
    """Whether a string has the format, as a function; None for a format that is not checked."""
    check = _CHECKS.get(name)
    if check is None:
        return None

    def holds(text: str) -> bool:
        try:
            check(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return holds
