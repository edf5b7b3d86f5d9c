"""The wire format of protocol buffers: a message's fields by number, as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_FIXED = {1: 8, 5: 4}
"""Bytes of the wire types of one length."""


def fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values: an int of a varint, bytes of anything else. Raises ValueError or IndexError for
    what is no message."""
    at, end = 0, len(raw)
    while at < end:
        tag, at = varint(raw, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(raw, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            size, at = varint(raw, at)
        elif wire in _FIXED:
            size = _FIXED[wire]
        else:
            raise ValueError(f"wire type {wire}, which no field has")
        if at + size > end:
            raise ValueError("truncated")
        yield tag >> 3, raw[at : at + size]
        at += size


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends."""
    value = raw[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    for shift in range(7, 64, 7):
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than 64 bits")


def signed(value: int) -> int:
    """A varint as an int64."""
    return value - (1 << 64) if value >> 63 else value
