"""What an instance has made on this host, written down before it is made.

Whatever way the process ends, everything that it made is in the ledger, and whoever holds the instance's lock
next can undo it. An entry may name a thing that was never made (the process died in between): undoing is
idempotent. The file is JSON lines; an entry is one appended line, so that a kill leaves at most a torn last
line, which names nothing that exists.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import msgspec


class Entry(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """Base of what can be in a ledger."""


class Cgroup(Entry, frozen=True, kw_only=True):
    """A machine's group in every hierarchy; undone by killing its members and removing it."""

    paths: tuple[str, ...]


class Bridge(Entry, frozen=True, kw_only=True):
    name: str


class Folder(Entry, frozen=True, kw_only=True):
    """A folder that is thrown away with the instance."""

    path: str


class Process(Entry, frozen=True, kw_only=True):
    """A process outside the machines. `started` in clock ticks since boot tells it from a later one."""

    pid: int
    started: int
    boot_id: str


class Settings(Entry, frozen=True, kw_only=True):
    """A share in the raised host-wide settings."""

    instance: str


AnyEntry = Cgroup | Bridge | Folder | Process | Settings


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    entry: AnyEntry
    undone: bool = False


class Ledger:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()  # machines end in threads of their own
        self._entries = self._read()

    @property
    def entries(self) -> tuple[AnyEntry, ...]:
        """In the order in which they were made."""
        return tuple(self._entries)

    def add(self, entry: AnyEntry) -> None:
        """To be called before the thing is made."""
        with self._lock:
            if entry not in self._entries:
                self._append(_Line(entry=entry))
                self._entries.append(entry)

    def remove(self, entry: AnyEntry) -> None:
        """To be called after the thing is gone. The last entry takes the file with it."""
        with self._lock:
            if entry not in self._entries:
                return
            self._entries.remove(entry)
            if self._entries:
                self._append(_Line(entry=entry, undone=True))
            else:
                self.path.unlink(missing_ok=True)

    def _append(self, line: _Line) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(fd)

    def _read(self) -> list[AnyEntry]:
        entries: list[AnyEntry] = []
        with contextlib.suppress(FileNotFoundError):
            for raw in self.path.read_bytes().splitlines():
                try:
                    line = msgspec.json.decode(raw, type=_Line)
                except msgspec.DecodeError:
                    continue
                if not line.undone:
                    entries.append(line.entry)
                elif line.entry in entries:
                    entries.remove(line.entry)
        return entries
