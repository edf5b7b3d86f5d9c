"""The change of a file's contents, as a diff where that can be read and shown."""

from __future__ import annotations

import difflib
import hashlib
from typing import Final, Literal

import msgspec

from mco.base.errors import InvalidInput
from mco.ignition.types import Resource
from mco.plan.node import verify
from mco.plan.preview import secrets

MAX_BYTES: Final = 1 << 20
MAX_LINES: Final = 20_000
"""Of one side. Beyond that only sizes and digests are shown: nobody reads it, and to look for secrets and for
the shortest difference would take long."""

Kind = Literal["text", "binary", "large", "masked", "unreadable"]

Source = Resource | str | None
"""Contents as a config has them; None for a file that does not exist."""


class Side(msgspec.Struct, frozen=True):
    """`size` in bytes."""

    size: int
    sha256: str


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` says what is known: a unified `diff` for text, sizes and digests for text and for what is
    binary or large, nothing for what is masked or cannot be decoded. A side that does not exist is null."""

    kind: Kind
    old: Side | None = msgspec.field(default=None, name="from")
    new: Side | None = msgspec.field(default=None, name="to")
    diff: str = ""


def change(path: str, old: Source, new: Source, *, private: bool = False) -> Contents | None:
    """None when the bytes are the same. What is `private` is not shown whatever it looks like."""
    try:
        before, after = _bytes(old), _bytes(new)
    except InvalidInput:
        return None if old == new else Contents(kind="unreadable")
    if before == after:
        return None
    sides = [data for data in (before, after) if data is not None]
    kind: Kind = "masked" if private else _kind(path, sides)
    if kind == "masked":
        return Contents(kind=kind)
    text = _diff(path, before, after) if kind == "text" else ""
    return Contents(kind=kind, old=_side(before), new=_side(after), diff=text)


def _bytes(source: Source) -> bytes | None:
    return None if source is None else verify.contents(source)


def _side(data: bytes | None) -> Side | None:
    return None if data is None else Side(len(data), hashlib.sha256(data).hexdigest())


def _kind(path: str, sides: list[bytes]) -> Kind:
    if secrets.in_path(path):
        return "masked"
    if any(len(data) > MAX_BYTES or data.count(b"\n") > MAX_LINES for data in sides):
        return "large"
    if any(map(secrets.in_contents, sides)):
        return "masked"
    return "text" if all(map(_is_text, sides)) else "binary"


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _diff(path: str, old: bytes | None, new: bytes | None) -> str:
    absent = "/dev/null"
    before = absent if old is None else f"a{path}"
    after = absent if new is None else f"b{path}"
    lines = difflib.unified_diff(_lines(old), _lines(new), before, after)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(data: bytes | None) -> list[str]:
    """Only a line feed ends a line, as every other tool sees it."""
    if not data:
        return []
    *whole, rest = data.decode().split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
