"""Boot loader entries (the UAPI group's Boot Loader Specification, type 1) as values.

An entry is a text file `<id>.conf` with one `key value` per line; `options` may be repeated. Which one boots
by default is said by `default` in `loader.conf`, a name or a glob over ids, as systemd-boot reads it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping

import msgspec

from mco.base.errors import InvalidInput

_WHITESPACE = " \t\n\v\f\r"  # of the C locale
_END = (1, 0, "")  # of a version: above a `~`, which marks a release candidate, below everything else
_END = (1, 0, "")  # of a version: above a `~`, which marks a candidate for it, below all else
_TRIES = re.compile(r"(.+?)\+(\d+)(?:-\d+)?")


class BootEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the file name without `.conf`; `lines` the file's lines as they are."""

    id: str
    lines: tuple[str, ...] = ()

    def values(self, key: str) -> tuple[str, ...]:
        pairs = (line.strip().split(None, 1) for line in self.lines)
        return tuple(pair[1] for pair in pairs if len(pair) == 2 and pair[0] == key)

    def value(self, key: str) -> str:
        """Of the last such line, or empty."""
        return (self.values(key) or ("",))[-1]

    @property
    def arguments(self) -> tuple[str, ...]:
        return split_arguments(" ".join(self.values("options")))

    def note(self, key: str) -> str | None:
        """A comment line `#key value`, which boot loaders skip."""
        for line in self.lines:
            if line.startswith(f"#{key} "):
                return line.split(" ", 1)[1].strip()
        return None


def parse_entry(name: str, text: str) -> BootEntry:
    """`name` is the file's, with or without `.conf`."""
    return BootEntry(id=name.removesuffix(".conf"), lines=tuple(text.splitlines()))


def default_pattern(loader_conf: str) -> str:
    """Value of `default` in loader.conf, or empty."""
    return parse_entry("loader", loader_conf).value("default")


def with_default(loader_conf: str, pattern: str) -> str:
    """loader.conf with another default; empty removes the line. All other lines stay."""
    kept = [line for line in loader_conf.splitlines() if line.split(None, 1)[:1] != ["default"]]
    return "".join(f"{line}\n" for line in (*kept, *([f"default {pattern}"] if pattern else [])))


def default_entry(entries: Iterable[BootEntry], pattern: str) -> BootEntry | None:
    """What boots when nobody chooses: the first in boot order whose id matches, else the first at all."""
    ordered = boot_order(entries)
    wanted = pattern.lower()
    for entry in ordered:
        names = (entry.id.lower(), f"{entry.id.lower()}.conf")
        if any(fnmatch.fnmatchcase(name, wanted) for name in names):
            return entry
    return ordered[0] if ordered else None


def boot_order(entries: Iterable[BootEntry]) -> list[BootEntry]:
    """As systemd-boot shows them: out of tries last; those with a sort key first, by key and newest version;
    then by id, newest first."""
    newest_first = sorted(entries, key=lambda e: (_version(e.value("version")), _version(e.id)), reverse=True)
    keyed = [e for e in newest_first if e.value("sort-key")]
    keyed.sort(key=lambda e: (e.value("sort-key"), e.value("machine-id")))
    plain = [e for e in newest_first if not e.value("sort-key")]
    plain.sort(key=lambda e: _version(e.id), reverse=True)
    return sorted((*keyed, *plain), key=_out_of_tries)


def split_arguments(text: str) -> tuple[str, ...]:
    """Kernel arguments of one line: split at white space, which double quotes protect; quotes stay in the
    argument and nothing escapes them (spec/daemon.md 6.13), as the kernel itself reads its command line."""
    found: list[str] = []
    current, quoted = "", False
    for character in text:
        if character == '"':
            quoted = not quoted
        if character in _WHITESPACE and not quoted:
            if current:
                found.append(current)
            current = ""
        else:
            current += character
    return (*found, current) if current else tuple(found)


def checked_arguments(entries: Iterable[str]) -> tuple[str, ...]:
    """Arguments of a config's list, each entry of which may hold several. Raises InvalidInput for what would
    damage the boot entry: a control character, or a quote without its partner, which swallows the rest."""
    found: list[str] = []
    for entry in entries:
        if any(c != "\t" and (ord(c) < 32 or ord(c) == 127) for c in entry):
            raise InvalidInput(
                f"kernel argument {entry!r} contains a control character",
                hint="remove newlines and NUL bytes",
            )
        if entry.count('"') % 2:
            raise InvalidInput(
                f"kernel argument {entry!r} has an odd number of quotes", hint="close the quote"
            )
        found += split_arguments(entry)
    return tuple(found)


def entries_of(files: Mapping[str, str]) -> list[BootEntry]:
    """From file name to text; names that do not end in `.conf` are no entries."""
    return [parse_entry(name, text) for name, text in files.items() if name.endswith(".conf")]


def _version(text: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.findall(r"\d+|[^\W\d_]+|~", text)
    return (*(_rank(part) for part in parts), _END)


def _rank(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return 3, int(part), ""
    return (0, 0, "") if part == "~" else (2, 0, part)


def _out_of_tries(entry: BootEntry) -> bool:
    match = _TRIES.fullmatch(entry.id)
    return match is not None and int(match[2]) == 0
