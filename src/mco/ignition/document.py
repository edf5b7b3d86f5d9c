"""JSON text as a tree with positions, read as Go's `encoding/json` reads it.

Only used when the strict decoder refused a document or something has to be said about one: it is exact, not
fast. Invalid UTF-8 and lone surrogates become U+FFFD, as there; errors carry the original's texts and offsets
(spec/render.md 8.1).
"""

from __future__ import annotations

import re
from typing import Any

_MAX_DEPTH = 10_000
_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb"[^\"\\\x00-\x1f]*")
_ESCAPED = re.compile(rb'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SHORT = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_GO_ESCAPES = {7: "a", 8: "b", 12: "f", 10: "n", 13: "r", 9: "t", 11: "v", 0x5C: "\\"}


# Contexts in which even a blank is an error.
_NO_BLANK = ("in numeric", "after decimal", "in exponent", "in literal", "in string escape", "in \\u")


class JSONSyntaxError(Exception):
    """The text is not JSON. `offset` counts the bytes read, the offending one included."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Node:
    """A value: `kind` is `object`, `array`, `string`, `number`, `bool` or `null`; `value` a scalar's value (a
    number's is its text). `members` keeps an object's keys as written, in order, repeated ones included."""

    __slots__ = ("end", "items", "kind", "members", "start", "value")

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        self.end = start
        self.value: Any = None
        self.members: list[tuple[str, int, Node]] = []
        self.items: list[Node] = []

    @property
    def mark(self) -> int:
        """The place that reports name: the first byte, of objects and lists the one after the bracket."""
        return self.start + 1 if self.kind in ("object", "array") else self.start

    def child(self, step: str) -> Node | None:
        """The member with exactly this key (the last one), or the element with this index."""
        if self.kind == "object":
            return next((node for key, _, node in reversed(self.members) if key == step), None)
        if self.kind == "array" and step.isdecimal() and int(step) < len(self.items):
            return self.items[int(step)]
        return None


class Document:
    """A parsed text that can tell lines and columns."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.root = _Parser(raw).parse()

    def position(self, index: int) -> tuple[int, int]:
        return position(self.raw, index)

    def locate(self, path: str) -> tuple[int, int]:
        """Line and column of the deepest value on a JSON path that exists in the text."""
        node = self.root
        for step in path.split(".")[1:]:
            child = node.child(step)
            if child is None:
                break
            node = child
        return self.position(node.mark)


def position(raw: bytes, index: int) -> tuple[int, int]:
    """Line and column (in bytes), from 1; 0, 0 behind the last byte, as the original has it."""
    if index >= len(raw):
        return 0, 0
    return raw.count(b"\n", 0, index) + 1, index - raw.rfind(b"\n", 0, index)


class _Parser:
    """One pass with a stack of its own: texts may nest 10,000 deep."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0

    def parse(self) -> Node:
        root = holder = Node("array", 0)
        stack = [holder]
        self._value(stack, "looking for beginning of value")
        while len(stack) > 1:
            self._go_on(stack)
        if self._peek() is not None:
            raise self._unexpected("after top-level value")
        return root.items[0]

    def _go_on(self, stack: list[Node]) -> None:
        """The next element or member of `stack[-1]`, or the end of it."""
        holder = stack[-1]
        is_array = holder.kind == "array"
        char = self._peek()
        if char == (b"]" if is_array else b"}"):
            self.at += 1
            stack.pop().end = self.at
        elif holder.items or holder.members:
            if char != b",":
                raise self._unexpected("after array element" if is_array else "after object key:value pair")
            self.at += 1
            self._next(stack, is_array)
        else:
            self._next(stack, is_array)

    def _next(self, stack: list[Node], is_array: bool) -> None:
        if is_array:
            self._value(stack, "looking for beginning of value")
        else:
            self._member(stack)

    def _member(self, stack: list[Node]) -> None:
        if self._peek() != b'"':
            raise self._unexpected("looking for beginning of object key string")
        start = self.at
        key = self._string()
        if self._peek() != b":":
            raise self._unexpected("after object key")
        self.at += 1
        self._value(stack, "looking for beginning of value", (key, start))

    def _value(self, stack: list[Node], expected: str, key: tuple[str, int] | None = None) -> None:
        char = self._peek()
        node = Node("", self.at)
        holder = stack[-1]
        if key is None:
            holder.items.append(node)
        else:
            holder.members.append((*key, node))
        if char == b"{" or char == b"[":
            self._open(stack, node, char)
        elif char == b'"':
            node.kind, node.value, node.end = "string", self._string(), self.at
        elif char is not None and char in b"-0123456789":
            node.kind, node.value, node.end = "number", self._number(), self.at
        elif char is not None and char in _LITERALS:
            word = self._literal(_LITERALS[char])
            node.kind, node.value, node.end = (
                ("null" if word == b"null" else "bool"),
                word == b"true",
                self.at,
            )
        else:
            raise self._unexpected(expected)

    def _open(self, stack: list[Node], node: Node, char: bytes) -> None:
        if len(stack) > _MAX_DEPTH:
            raise self._unexpected("exceeded max depth")
        node.kind = "object" if char == b"{" else "array"
        stack.append(node)
        self.at += 1

    def _peek(self) -> bytes | None:
        match = _SPACE.match(self.raw, self.at)
        assert match is not None
        self.at = match.end()
        return self.raw[self.at : self.at + 1] or None

    def _unexpected(self, context: str, at: int | None = None) -> JSONSyntaxError:
        index = self.at if at is None else at
        if index >= len(self.raw):
            # The original feeds its state machine one more blank at the end.
            blank = context.startswith(_NO_BLANK)
            message = f"invalid character ' ' {context}" if blank else "unexpected end of JSON input"
            return JSONSyntaxError(message, len(self.raw))
        return JSONSyntaxError(f"invalid character {_quoted(self.raw[index])} {context}", index + 1)

    def _string(self) -> str:
        parts: list[str] = []
        at = self.at + 1
        while True:
            plain = _PLAIN.match(self.raw, at)
            assert plain is not None
            if plain.end() > at:
                parts.append(_utf8(plain.group()))
            at = plain.end()
            char = self.raw[at : at + 1]
            if char == b'"':
                self.at = at + 1
                return _join(parts)
            if char != b"\\":
                raise self._unexpected("in string literal", at)
            escaped = _ESCAPED.match(self.raw, at)
            if escaped is None:
                raise self._bad_escape(at)
            parts.append(chr(int(escaped[1], 16)) if escaped[1] else _SHORT[escaped[2]])
            at = escaped.end()

    def _bad_escape(self, at: int) -> JSONSyntaxError:
        if self.raw[at + 1 : at + 2] != b"u":
            return self._unexpected("in string escape code", at + 1)
        digits = re.compile(rb"[0-9A-Fa-f]*").match(self.raw, at + 2)
        assert digits is not None
        return self._unexpected("in \\u hexadecimal character escape", digits.end())

    def _number(self) -> str:
        match = _NUMBER.match(self.raw, self.at)
        if match is None:
            raise self._unexpected("in numeric literal", self.at + 1)
        end = match.end()
        following = self.raw[end : end + 1]
        text = match.group()
        if following == b"." and b"." not in text and b"e" not in text.lower():
            raise self._unexpected("after decimal point in numeric literal", end + 1)
        if following and following in b"eE" and b"e" not in text.lower():
            sign = self.raw[end + 1 : end + 2] in (b"+", b"-")
            raise self._unexpected("in exponent of numeric literal", end + 1 + sign)
        self.at = end
        return text.decode()

    def _literal(self, word: bytes) -> bytes:
        for index, expected in enumerate(word):
            if self.raw[self.at + index : self.at + index + 1] != bytes([expected]):
                context = f"in literal {word.decode()} (expecting {_quoted(expected)})"
                raise self._unexpected(context, self.at + index)
        self.at += len(word)
        return word


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return re.sub("[\udc80-\udcff]", "\ufffd", data.decode(errors="surrogateescape"))


def _join(parts: list[str]) -> str:
    """Escaped surrogate pairs become one character, lone ones U+FFFD."""
    text = "".join(parts)
    if text.isascii() or re.search("[\ud800-\udfff]", text) is None:
        return text
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return re.sub("[\ud800-\udfff]", "\ufffd", paired)


def _quoted(byte: int) -> str:
    """A byte as Go prints a character: `'x'`, `'\\''`, `'\\n'`, `'\\x00'`, `'\\u0080'`."""
    if byte == ord("'"):
        return r"'\''"
    if byte in _GO_ESCAPES:
        return f"'\\{_GO_ESCAPES[byte]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x80 <= byte <= 0xA0 or byte == 0xAD:
        return f"'\\u{byte:04x}'"
    return f"'{chr(byte)}'"
