"""Texts as the original prints them."""

from __future__ import annotations

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """`text` in double quotes with Go's escapes, as `%q` prints it (spec/node.md 3.8)."""
    return '"' + "".join(_ESCAPES.get(c) or _escape(c) for c in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    if character == " " or (character.isprintable() and not 0xD800 <= code <= 0xDFFF):
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
