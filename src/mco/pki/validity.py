"""For whom a certificate is and how long it lasts, read from its DER encoding (RFC 5280 4.1).

An idle daemon asks its certificate nothing else; a whole cryptography library would be a sixth of its memory.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

_SEQUENCE, _VERSION = 0x30, 0xA0
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_COMMON_NAME = bytes((0x06, 0x03, 0x55, 0x04, 0x03))
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class Certificate(msgspec.Struct, frozen=True):
    """`user` is the subject's common name, empty when it has none."""

    user: str
    begins: datetime
    ends: datetime


def read(pem: bytes) -> Certificate | None:
    """The first certificate of `pem`, None when there is none that can be read."""
    try:
        text = pem.decode("ascii")
        first = text[text.index(_BEGIN) : text.index(_END) + len(_END)]
        whole = _only(ssl.PEM_cert_to_DER_cert(first))
        fields = list(_parts(_only(whole)))
        # The version is optional; then serial number, signature algorithm, issuer, validity, subject.
        start = 1 if fields[0][0] == _VERSION else 0
        begins, ends = (_time(tag, value) for tag, value in _parts(fields[start + 3][1]))
        return Certificate(_common_name(fields[start + 4][1]), begins, ends)
    except (ValueError, IndexError):
        return None


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and value of the elements of `data`, one after the other. Raises ValueError."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            width = length & 0x7F
            length = int.from_bytes(data[at : at + width], "big")
            at += width
        if at + length > len(data):
            raise ValueError("an element is longer than what it is part of")
        yield tag, data[at : at + length]
        at += length


def _only(data: bytes) -> bytes:
    """The value of the sequence that `data` begins with."""
    tag, value = next(_parts(data), (0, b""))
    if tag != _SEQUENCE:
        raise ValueError("not a sequence")
    return value


def _time(tag: int, value: bytes) -> datetime:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        text = ("20" if text < "50" else "19") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("not a time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _common_name(subject: bytes) -> str:
    for _, relative in _parts(subject):
        for _, attribute in _parts(relative):
            if attribute.startswith(_COMMON_NAME):
                _, value = next(_parts(attribute[len(_COMMON_NAME) :]))
                return value.decode()
    return ""
