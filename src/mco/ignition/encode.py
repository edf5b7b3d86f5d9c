"""Writes a config as the original does.

Keys stand in the order of its structs, zero values and structs without content are left out, except as
elements of lists (spec/render.md 1.7, 1.8); `<`, `>`, `&`, U+2028 and U+2029 are escaped, as its JSON
package does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.ignition import types as t

_ENCODER = msgspec.json.Encoder()

_ESCAPES = (
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    (b"&", rb"\u0026"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


def to_builtins(config: t.Config) -> dict[str, Any]:
    """The config as dictionaries, lists and scalars."""
    raw = _ENCODER.encode(config)
    value: dict[str, Any] = msgspec.json.decode(raw)
    if b'":{}' in raw:
        prune(value)
    return value


def to_json(config: t.Config) -> bytes:
    """The config as compact JSON."""
    raw = _ENCODER.encode(config)
    if b'":{}' in raw:  # perhaps only inside a text: the prune then finds nothing
        raw = _ENCODER.encode(to_builtins(config))
    return escape(raw)


def dumps(value: Any) -> bytes:
    """Any JSON value as the original's JSON package writes it, keys in the given order."""
    return escape(_ENCODER.encode(value))


def escape(raw: bytes) -> bytes:
    """Escapes what may not stand in HTML; these bytes occur only inside JSON strings."""
    for char, escaped in _ESCAPES:
        if char in raw:
            raw = raw.replace(char, escaped)
    for short, long in ((rb"\b", rb"\u0008"), (rb"\f", rb"\u000c")):
        if short in raw:
            raw = _expand(raw, short, long)
    return raw


def _expand(raw: bytes, short: bytes, long: bytes) -> bytes:
    """Writes the two control characters as the original's package does, leaving escaped backslashes alone."""
    return rb"\\".join(part.replace(short, long) for part in raw.split(rb"\\"))


def prune(value: Any) -> None:
    """Drops struct members that have no content, innermost first; list elements stay."""
    if isinstance(value, list):
        for item in value:
            prune(item)
    elif isinstance(value, dict):
        for key in list(value):
            member = value[key]
            prune(member)
            if member == {}:
                del value[key]
