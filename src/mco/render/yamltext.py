"""The YAML text that a rendered name is the hash of, byte for byte as the original's library writes it.

`dump` writes a tree of mappings, lists, strings, whole numbers and booleans as yaml.v2 2.4.0 does
(spec/render.md 1.7): block style, indented by two, lists not indented under their key, lines folded at 80
columns. The library is a port of an old libyaml with faults of its own, and a name may never change, so the
text is written here instead of by a newer libyaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mco.api.scalars import must_be_quoted

_WIDTH: Final = 80

_BREAKS: Final = "\n\u2028\u2029"
_NOT_PRINTABLE = re.compile("[^\n\\x20-\\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_SPACE_BEFORE_BREAK = re.compile(f" [{_BREAKS}]")
_SPACE_AFTER_BREAK = re.compile(f"[{_BREAKS}] ")
_BREAK_RUN = re.compile("([\u2028\u2029]+)")
_LINE = re.compile(f"([{_BREAKS}]+)")

_NEVER_FIRST: Final = frozenset("#,[]{}&*!|>'\"%@`")
_NOT_FIRST_ALONE: Final = frozenset("-?:")

_ESCAPED = re.compile(
    "[^\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
)
_ESCAPES: Final = {
    0x00: "\\0",
    0x07: "\\a",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0B: "\\v",
    0x0C: "\\f",
    0x0D: "\\r",
    0x1B: "\\e",
    0x22: '\\"',
    0x5C: "\\\\",
    0x85: "\\N",
    0xA0: "\\_",
    0x2028: "\\L",
    0x2029: "\\P",
}

Tree = Mapping[str, Any]
"""Keys are words; values are str, bool, int, and mappings and sequences of them."""


def dump(tree: Tree) -> str:
    """The text of a mapping, ending with a line break. Raises TypeError for a value that has no rule here."""
    if not tree:
        return "{}\n"
    out: list[str] = []
    _mapping(out, tree, 0, "")
    if out[-1][-1] not in _BREAKS:
        out.append("\n")
    return "".join(out).removeprefix("\n")


def _mapping(out: list[str], tree: Tree, indent: int, lead: str) -> None:
    """Appends the pairs; `lead` replaces line break and indent before the first one (it follows a dash)."""
    pad = "\n" + " " * indent
    for key in sorted(tree):
        out.append(lead or _break(out, pad))
        lead = ""
        out.append(key)
        value = tree[key]
        if isinstance(value, str):
            out.append(": ")
            out.append(scalar(value, indent + len(key) + 2, indent + 2))
        elif isinstance(value, bool):
            out.append(": true" if value else ": false")
        elif isinstance(value, int):
            out.append(f": {value}")
        elif isinstance(value, Mapping):
            out.append(":" if value else ": {}")
            _mapping(out, value, indent + 2, "")
        else:
            out.append(":" if value else ": []")
            _sequence(out, value, indent, "")


def _sequence(out: list[str], items: Sequence[Any], indent: int, lead: str) -> None:
    pad = "\n" + " " * indent
    for value in items:
        out.append(lead or _break(out, pad))
        lead = ""
        if isinstance(value, str):
            out.append("- ")
            out.append(scalar(value, indent + 2, indent + 2))
        elif isinstance(value, bool):
            out.append("- true" if value else "- false")
        elif isinstance(value, int):
            out.append(f"- {value}")
        elif isinstance(value, Mapping):
            out.append("-" if value else "- {}")
            _mapping(out, value, indent + 2, " ")
        elif isinstance(value, list | tuple):
            out.append("-" if value else "- []")
            _sequence(out, value, indent + 2, " ")
        else:
            raise TypeError(f"{type(value).__name__} has no YAML text")


def _break(out: list[str], pad: str) -> str:
    """`pad` without its line break where the text before, a literal, ended with one."""
    return pad[1:] if out and out[-1][-1] in _BREAKS else pad


def scalar(text: str, column: int, indent: int) -> str:
    """A string in the style that the original chooses, starting at `column`, continued at `indent`."""
    if "\n" in text:
        return _literal(text, indent) if _may_be_literal(text) else _double_quoted(text, column, indent)
    if must_be_quoted(text):
        return _double_quoted(text, column, indent)
    if _may_be_plain(text):
        return _folded(text, column, indent)
    if _may_be_single_quoted(text):
        return _single_quoted(text, column, indent)
    return _double_quoted(text, column, indent)


def _printable(text: str) -> bool:
    if text.isascii():
        # Python's own scan is much faster, and for ASCII it means the same but for the line break.
        return (text.replace("\n", "") if "\n" in text else text).isprintable()
    return _NOT_PRINTABLE.search(text) is None


def _may_be_literal(text: str) -> bool:
    return not text.endswith(" ") and not _SPACE_BEFORE_BREAK.search(text) and _printable(text)


def _may_be_single_quoted(text: str) -> bool:
    if not _printable(text):
        return False
    return not (_SPACE_BEFORE_BREAK.search(text) or _SPACE_AFTER_BREAK.search(text))


def _may_be_plain(text: str) -> bool:
    first = text[0]
    if first in _NEVER_FIRST or text[-1] == ":" or text.startswith(("---", "...")) or not _printable(text):
        return False
    if first in _NOT_FIRST_ALONE and text[1:2] in ("", " "):
        return False
    if not text.isascii() and ("\u2028" in text or "\u2029" in text):
        return False
    if " " not in text:
        return True
    return first != " " and text[-1] != " " and ": " not in text and " #" not in text


def _literal(text: str, indent: int) -> str:
    header = "|"
    if text[0] == " " or text[0] in _BREAKS:
        header += "2"
    if text[-1] not in _BREAKS:
        header += "-"
    elif len(text) == 1 or text[-2] in _BREAKS:
        header += "+"
    pad = " " * indent
    if text.isascii():
        return header + "\n" + "\n".join([pad + line if line else "" for line in text.split("\n")])
    parts = _LINE.split(text)
    return header + "\n" + "".join(part if i % 2 or not part else pad + part for i, part in enumerate(parts))


def _single_quoted(text: str, column: int, indent: int) -> str:
    body = text.replace("'", "''")
    if body.isascii() or not _BREAK_RUN.search(body):
        return "'" + _folded(body, column + 1, indent, quoted=True) + "'"
    # U+2028 and U+2029 count as line breaks: what follows one is indented, the closing quote is not.
    first, *rest = _BREAK_RUN.split(body)
    out = [_folded(first, column + 1, indent, quoted=True)]
    for i, part in enumerate(rest):
        out.append(
            part if i % 2 == 0 or not part else " " * indent + _folded(part, indent, indent, quoted=True)
        )
    return "'" + "".join(out) + "'"


def _double_quoted(text: str, column: int, indent: int) -> str:
    if text.startswith("\ufeff"):
        # The original looks for this mark at the start of the string, whichever character it is at.
        body = "".join(map(_escape, text))
    else:
        body = _ESCAPED.sub(lambda match: _escape(match[0]), text)
    return '"' + _folded(body, column + 1, indent, quoted=True, escapes=True) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _folded(text: str, column: int, indent: int, *, quoted: bool = False, escapes: bool = False) -> str:
    """`text` with line breaks in place of the spaces at which a line has grown beyond the width.

    Only the first of several spaces is ever considered. Quoted text is never folded at its first or last
    character. With `escapes` a space after a fold is kept by a backslash; without them no fold is made there.
    """
    if column + len(text) <= _WIDTH + 1 or " " not in text:
        return text
    out: list[str] = []
    pad = "\n" + " " * indent
    start, last = 0, len(text) - 1
    at = text.find(" ", max(0, _WIDTH + 1 - column))
    while at >= 0:
        after_space = at > 0 and text[at - 1] == " "
        at_edge = quoted and at in (0, last)
        before_space = text[at + 1 : at + 2] == " "
        if not after_space and not at_edge and (escapes or not before_space):
            out.append(text[start:at])
            out.append(pad)
            start, column = at + 1, indent
            if escapes and before_space:
                out.append("\\")
                column += 1
            at = text.find(" ", start + max(0, _WIDTH + 1 - column))
        else:
            at = text.find(" ", at + 1)
    out.append(text[start:])
    return "".join(out)
