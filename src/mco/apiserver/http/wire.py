"""Messages of protocol buffers as JSON values, by tables of their fields."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mco.apiserver.protowire import fields, signed

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Decode = Callable[[Any], Any]
"""From what the wire carries, an int or bytes, to a JSON value; None: as if the field was not there."""
Message = Mapping[int, tuple[str, Decode]]


def text(raw: bytes) -> str | None:
    return raw.decode() or None


def word(raw: bytes) -> str:
    """A text in a list, where an empty one counts."""
    return raw.decode()


def number(raw: int) -> int:
    return signed(raw)


def positive(raw: int) -> int | None:
    """A number whose zero means that it was not set."""
    return number(raw) or None


def truth(raw: int) -> bool:
    return bool(raw)


def number_or_text(raw: bytes) -> int | str:
    parts = dict(fields(raw))
    return word(parts.get(3, b"")) if parts.get(1) else number(parts.get(2, 0))


def binary(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def timestamp(raw: bytes) -> str | None:
    parts = dict(fields(raw))
    if not parts:
        return None
    moment = _EPOCH + timedelta(seconds=number(parts.get(1, 0)), microseconds=parts.get(2, 0) // 1000)
    shown = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{shown}.{moment.microsecond:06d}Z" if moment.microsecond else f"{shown}Z"


class Repeated:
    """A list of what `decode` makes of each occurrence."""

    def __init__(self, decode: Decode) -> None:
        self.decode = decode

    def __call__(self, raw: Any) -> Any:
        return self.decode(raw)


class Map:
    """A map from text to what `decode` makes of the values."""

    def __init__(self, decode: Decode) -> None:
        self.decode = decode

    def __call__(self, raw: bytes) -> tuple[str, Any]:
        parts = dict(fields(raw))
        value = self.decode(parts.get(2, b""))
        return parts.get(1, b"").decode(), "" if value is None else value


def message(table: Message) -> Decode:
    return lambda raw: content(raw, table)


def content(raw: bytes, table: Message) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field, value in fields(raw):
        if field not in table:
            continue
        name, decode = table[field]
        decoded = decode(value)
        if isinstance(decode, Map):
            result.setdefault(name, {})[decoded[0]] = decoded[1]
        elif isinstance(decode, Repeated):
            result.setdefault(name, []).append(decoded)
        elif decoded is not None:
            result[name] = decoded
    return result


def texts(*names: str) -> dict[int, tuple[str, Decode]]:
    """Text fields numbered from 1."""
    return {number: (name, text) for number, name in enumerate(names, start=1)}
