"""The grammar of systemd unit files, as the original's parser takes them (spec/render.md 10).

Before the first `[` that is not in a comment everything is ignored; then come sections of `name=value` lines,
comments (`#`, `;`) and blank lines. A backslash at the end of a line continues it, in comments too. Only what
that parser refuses is refused here: it does not know which sections or options systemd has.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mco.base.errors import InvalidInput

MAX_LINE = 2048
"""Bytes that a line may have."""

_READ_AHEAD = 4096  # the original's reader: how far it sees when it looks for the end of a line

_LONG_RUN = re.compile(rb"[^\r\n]{%d}" % MAX_LINE)
_SPACES = "\t\n\v\f\r \u0085\u00a0\u1680"
_SPACES += "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK = re.compile(b"|".join(re.escape(space.encode()) for space in _SPACES))
_BEFORE_SECTIONS = re.compile(rb"[^\[#;]*")
# Nearly all unit files: plain ASCII lines without continuations.
_REMARK = r"[#;][^\n\r\\]*"
_ASSIGNMENT = r"[A-Za-z0-9_-]+[ \t]*=[^\n\r\\]*"
_SECTION = rf"\[[^\]\[\n\r]*\][ \t]*\n(?:[ \t]*(?:{_REMARK}|{_ASSIGNMENT})?\n)*"
_SIMPLE = re.compile(rf"(?:[ \t]*(?:{_REMARK})?\n)*(?:{_SECTION})*")
_PARTS = re.compile(r"^(?:\[([^\]\n]*)\]|[ \t]*([A-Za-z0-9_-]+)[ \t]*=(.*))", re.MULTILINE)
_LONG_LINE = re.compile(rf"[^\n]{{{MAX_LINE}}}")
_NAME = re.compile(rb"[^=\r\n]*")
_GO_ESCAPES = {'"': r"\"", "\\": r"\\", "\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v"} | {
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
}


class UnitError(InvalidInput):
    """The text is not a unit file."""


class Option(NamedTuple):
    """`name=value` in a section; a continued value keeps its backslashes and line breaks."""

    section: str
    name: str
    value: str


def parse(text: str) -> tuple[Option, ...]:
    """The options of a unit file in order; raises UnitError in the words of the original's parser."""
    whole = text if text.endswith("\n") else text + "\n"
    if text.isascii() and _SIMPLE.fullmatch(whole) and not _LONG_LINE.search(text):
        return _simple_options(whole)
    return _Parser(text.encode(errors="surrogatepass")).parse()


def _simple_options(text: str) -> tuple[Option, ...]:
    """The options of a text in which every line is blank, a comment, a header or an option."""
    section = ""
    options = []
    for header, name, value in _PARTS.findall(text):
        if name:
            options.append(Option(section, name, value.strip(_SPACES)))
        else:
            section = header
    return tuple(options)


class _Parser:
    """Each step consumes a blank, a comment, a section header or an option, and says what comes next."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._section = ""
        self._options: list[Option] = []
        self._guard = _Guard(raw) if _LONG_RUN.search(raw) else None

    def parse(self) -> tuple[Option, ...]:
        self._before_sections()
        while self._at < len(self._raw):
            self._check_line()
            self._step()
        return tuple(self._options)

    def _before_sections(self) -> None:
        while self._at < len(self._raw):
            self._check_line()
            char = self._raw[self._at : self._at + 1]
            if char == b"[":
                self._header()
                return
            if char in (b"#", b";"):
                self._comment()
            elif self._guard is None:
                self._at = _end(_BEFORE_SECTIONS, self._raw, self._at)
            else:
                self._rune()

    def _step(self) -> None:
        blank = _BLANK.match(self._raw, self._at)
        char = self._raw[self._at : self._at + 1]
        if blank is not None:
            self._rune()
        elif char == b"[":
            self._header()
        elif char in (b"#", b";"):
            self._comment()
        else:
            self._option()

    def _header(self) -> None:
        self._rune()
        self._check_line()
        end = self._raw.find(b"]", self._at)
        if end < 0:
            raise UnitError("unable to find end of section")
        self._section = self._raw[self._at : end].decode(errors="replace")
        self._take(b"]")
        self._check_line()
        garbage = _text(self._line())
        if garbage:
            raise UnitError(f"found garbage after section name : {_quoted(garbage)}")

    def _comment(self) -> None:
        self._rune()
        self._check_line()
        while self._line().removesuffix(b" ").endswith(b"\\"):
            pass

    def _option(self) -> None:
        if self._guard is not None:
            self._guard.rune(self._at)
            self._check_line()
        end = _end(_NAME, self._raw, self._at)
        if end == len(self._raw):
            raise UnitError("EOF")
        if self._raw[end : end + 1] != b"=":
            raise UnitError("unexpected newline encountered while parsing option name")
        name = _text(self._raw[self._at : end])
        self._advance(end + 1)
        self._options.append(Option(self._section, name, self._value()))

    def _value(self) -> str:
        lines = []
        while True:
            self._check_line()
            line = self._line()
            if not _text(line):
                break
            lines.append(line)
            if not line.endswith(b"\\"):
                break
        return _text(b"\n".join(lines))

    def _line(self) -> bytes:
        """The rest of the line, without its end."""
        start = self._at
        self._take(b"\n")
        return self._raw[start : self._at].removesuffix(b"\r").removesuffix(b"\n")

    def _take(self, delimiter: bytes) -> None:
        """Moves behind the next delimiter, or to the end."""
        if self._guard is not None:
            self._guard.take(self._at, delimiter)
        found = self._raw.find(delimiter, self._at)
        self._at = len(self._raw) if found < 0 else found + 1

    def _rune(self) -> None:
        if self._guard is not None:
            self._guard.rune(self._at)
        self._at += _rune_length(self._raw, self._at)

    def _advance(self, position: int) -> None:
        if self._guard is not None:
            self._guard.runes(self._at, position)
        self._at = position

    def _check_line(self) -> None:
        if self._guard is not None and self._guard.too_long(self._at):
            raise UnitError(f"line too long (max {MAX_LINE} bytes)")


class _Guard:
    """Follows the original's read buffer, because a long line is noticed only when it happens to be
    buffered."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._end = 0

    def too_long(self, at: int) -> bool:
        """Whether 2048 bytes from here are buffered and no line ends in them. A position that was reached
        rune by rune has been read from the buffer already."""
        return self._end - at >= MAX_LINE and _LONG_RUN.match(self._raw, at) is not None

    def take(self, at: int, delimiter: bytes) -> None:
        """Reads up to and with a delimiter, refilling as the original does."""
        scan = at
        while self._raw.find(delimiter, scan, self._end) < 0 and self._end < len(self._raw):
            if self._end - at >= _READ_AHEAD:
                at = self._end
            scan = self._end
            self._fill(at)

    def runes(self, at: int, stop: int) -> None:
        """Reads characters one by one up to `stop`."""
        while at < stop:
            at += self.rune(at)

    def rune(self, at: int) -> int:
        """Reads one character; its length."""
        length = _rune_length(self._raw, at)
        if at + length > self._end:
            self._fill(at)
        return length

    def _fill(self, at: int) -> None:
        self._end = min(len(self._raw), at + _READ_AHEAD)


def _rune_length(raw: bytes, at: int) -> int:
    first = raw[at]
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _end(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    match = pattern.match(raw, at)
    assert match is not None
    return match.end()


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").strip(_SPACES)


def _quoted(text: str) -> str:
    """A text as Go quotes it."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _GO_ESCAPES:
        return _GO_ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
