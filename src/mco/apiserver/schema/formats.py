"""String formats that a schema may demand. A format that is not listed here is not checked."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from email.utils import parseaddr

from mco.apiserver.strategies import names

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)
_DURATION = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*\Z"
)
_HOSTNAME = re.compile(
    r"(?:[A-Za-z0-9](?:-?[A-Za-z0-9]{0,62})?|(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63})\Z"
)
_WORDS = re.compile(
    r"(?<!\d)\d+\s*(?:n|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|"
    r"minutes?|h|hrs?|hours?|d|days?|w|weeks?)\b",
    re.IGNORECASE,
)
_HEX = "[0-9a-f]"
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}[:-]){5}(?:(?:[0-9A-Fa-f]{2}[:-]){2})?[0-9A-Fa-f]{2}\Z")
_COLOR = re.compile(r"#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})\Z")
_BYTE = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_RGB = re.compile(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)\Z", re.ASCII)
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}\Z")
_CARD = re.compile(
    r"(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|(?:2131|1800|35\d{3})\d{11})\Z",
    re.ASCII,
)
_SSN = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}\Z", re.ASCII)


def _date_time(text: str) -> None:
    if not _DATE_TIME.match(text):
        raise ValueError
    datetime.fromisoformat(text[:19])


def _date(text: str) -> None:
    if len(text) != 10:
        raise ValueError
    date.fromisoformat(text)


def _hostname(text: str) -> None:
    """Letters and symbols of all scripts are letters."""
    plain = "".join("a" if unicodedata.category(c)[0] in "SL" else c for c in text)
    if len(text) > 255 or not _HOSTNAME.match(plain):
        raise ValueError


def _cidr(text: str) -> None:
    if "/" not in text:
        raise ValueError
    ipaddress.ip_network(text, strict=False)


def _byte(text: str) -> None:
    if not text:
        raise ValueError
    base64.b64decode(text, validate=True)


def _match(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not pattern.match(text):
            raise ValueError

    return check


def _duration(text: str) -> None:
    if text != "0" and not _DURATION.match(text) and not _WORDS.search(text):
        raise ValueError


def _uuid(version: str, variant: str) -> Callable[[str], None]:
    return _match(
        re.compile(
            rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}{_HEX}{{3}}-?{variant}{_HEX}{{3}}-?{_HEX}{{12}}\Z",
            re.IGNORECASE,
        )
    )


def _card(text: str) -> None:
    """With the sum of Luhn."""
    digits = re.sub(r"\D", "", text)
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    if not _CARD.match(digits) or sum(n - 9 if n > 9 else n for n in doubled) % 10:
        raise ValueError


def _isbn(text: str) -> None:
    digits = re.sub(r"[\s-]", "", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        weights = sum((10 - i) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11
    elif re.fullmatch(r"\d{13}", digits, re.ASCII):
        weights = sum((3 if i % 2 else 1) * int(d) for i, d in enumerate(digits)) % 10
    else:
        raise ValueError
    if weights:
        raise ValueError


def _email(text: str) -> None:
    name, address = parseaddr(text)
    local, at, domain = address.rpartition("@")
    if not (at and local and domain) or (not name and address != text):
        raise ValueError


def _uri(text: str) -> None:
    if not re.match(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|/)", text):
        raise ValueError


def _named(rule: Callable[[str], list[str]]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if rule(text):
            raise ValueError

    return check


_CHECKS: dict[str, Callable[[str], object]] = {
    "bsonobjectid": _match(_OBJECT_ID),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _card,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _duration,
    "email": _email,
    "hexcolor": _match(_COLOR),
    "hostname": _hostname,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "isbn": _isbn,
    "k8s-long-name": _named(names.subdomain_errors),
    "k8s-short-name": _named(names.label_errors),
    "mac": _match(_MAC),
    "rgbcolor": _match(_RGB),
    "ssn": _match(_SSN),
    "uri": _uri,
    "uuid": _uuid(_HEX, _HEX),
    "uuid3": _uuid("3", _HEX),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
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
