"""What is wrong with a config, or odd about it: a list of entries, each with a JSON path and a position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from mco.base.errors import InvalidInput

Kind = Literal["error", "warn"]

_WORDS = {"error": "error", "warn": "warning"}
ROOT = "$"


class Entry(msgspec.Struct, frozen=True):
    """One finding. `path` is a JSON path as `$.storage.files.0.mode` (`$` is the document itself); `line`
    and `column` count from 1, the column in bytes, and are 0 where no text was at hand. A position behind
    the last byte is 0, 0 too, as in the original."""

    kind: Kind
    path: str
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """The original's line (spec/render.md 8.1): `error at $.storage.files.0.mode, line 1 col 90:
        text`."""
        places = []
        if self.path != ROOT:
            places.append(self.path)
        if self.line or self.path == ROOT:
            places.append(f"line {self.line} col {self.column}")
        return f"{_WORDS[self.kind]} at {', '.join(places)}: {self.message}"


class Report(msgspec.Struct, frozen=True):
    """Everything that was found, in the original's order: rules, duplicates, unused keys."""

    entries: tuple[Entry, ...] = ()

    @property
    def fatal(self) -> bool:
        return any(entry.kind == "error" for entry in self.entries)

    def __add__(self, other: Report) -> Report:
        return Report(self.entries + other.entries)

    def __str__(self) -> str:
        return "".join(f"{entry}\n" for entry in self.entries)


OK = Report()


class Findings:
    """Collects entries while a config is walked; paths are handed in complete. `minor` is the 3.x version by
    whose rules it is judged."""

    def __init__(self, minor: int = 5) -> None:
        self.minor = minor
        self.entries: list[Entry] = []

    def error(self, path: str, message: str) -> None:
        self.entries.append(Entry("error", path, message))

    def warn(self, path: str, message: str) -> None:
        self.entries.append(Entry("warn", path, message))

    def report(self) -> Report:
        return Report(tuple(self.entries)) if self.entries else OK


class IgnitionError(InvalidInput):
    """An Ignition config that cannot be used; `report` lists all that was found in it."""

    def __init__(self, message: str, *, report: Report = OK, path: str = "", hint: str = "") -> None:
        super().__init__(message, path=path or first_path(report.entries), hint=hint)
        self.report = report


def first_path(entries: Iterable[Entry]) -> str:
    """The path of the first error, for the `path` field of an exception."""
    return next((entry.path for entry in entries if entry.kind == "error"), "")
