"""Unit files of a root, read as systemd reads them: search path, drop-ins, templates, masks.

Only the directory-rooted host needs it: a machine asks its systemd.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

import msgspec

from mco.host.root import Root

SEARCH_PATH = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_SUFFIXES = (".service", ".socket", ".target", ".timer", ".path", ".mount", ".automount", ".slice", ".swap")


class UnitFile(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the file's own (of an alias: the real unit's); `settings` maps (section, key) to the values
    in order, drop-ins applied, an empty value having cleared the earlier ones."""

    name: str
    path: str
    masked: bool = False
    settings: Mapping[tuple[str, str], tuple[str, ...]] = {}

    def words(self, section: str, key: str) -> tuple[str, ...]:
        return tuple(word for value in self.settings.get((section, key), ()) for word in value.split())

    def lines(self, section: str, key: str) -> tuple[str, ...]:
        return self.settings.get((section, key), ())

    @property
    def installable(self) -> bool:
        keys = ("WantedBy", "RequiredBy", "UpheldBy", "Alias", "Also")
        return any(self.words("Install", key) for key in keys)


def is_unit(name: str) -> bool:
    return name.endswith(_SUFFIXES)


def template_of(name: str) -> str | None:
    """`a@.service` for `a@b.service` (and for itself); None for a unit that is no instance."""
    stem, at, rest = name.partition("@")
    return f"{stem}@.{rest.rpartition('.')[2]}" if at else None


def instance_of(name: str) -> str:
    return name.partition("@")[2].rpartition(".")[0]


def find(root: Root, name: str) -> UnitFile | None:
    """The unit's own file, else its template's. A link to /dev/null and an empty file mask it."""
    for candidate in dict.fromkeys((name, template_of(name) or name)):
        for folder in SEARCH_PATH:
            path = f"{folder}/{candidate}"
            status = root.stat(path)
            if status is None or status.is_dir:
                continue
            if status.is_symlink:
                target = posixpath.normpath(posixpath.join(folder, status.target))
                if target == "/dev/null":
                    return UnitFile(name=name, path=path, masked=True)
                if posixpath.basename(target) != candidate and is_unit(target):
                    return find(root, posixpath.basename(target))
            return _load(root, name, path)
    return None


def all_names(root: Root) -> Iterator[str]:
    seen: set[str] = set()
    for folder in SEARCH_PATH:
        for name in root.list(folder):
            status = root.stat(f"{folder}/{name}")
            if name not in seen and is_unit(name) and status is not None and not status.is_dir:
                seen.add(name)
                yield name


def _load(root: Root, name: str, path: str) -> UnitFile:
    main = root.read_optional(path)
    if not main:
        return UnitFile(name=name, path=path, masked=main == b"")
    settings: dict[tuple[str, str], tuple[str, ...]] = {}
    for text in (main, *_dropins(root, name)):
        _merge(settings, text.decode("utf-8", "replace"))
    return UnitFile(name=name, path=path, settings=settings)


def _dropins(root: Root, name: str) -> Iterator[bytes]:
    """By file name, the first folder in the search path winning."""
    found: dict[str, str] = {}
    for unit in dict.fromkeys((name, template_of(name) or name)):
        for folder in SEARCH_PATH:
            for file in root.list(f"{folder}/{unit}.d"):
                if file.endswith(".conf"):
                    found.setdefault(file, f"{folder}/{unit}.d/{file}")
    for file in sorted(found):
        yield root.read_optional(found[file]) or b""


def _merge(settings: dict[tuple[str, str], tuple[str, ...]], text: str) -> None:
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line and line[0] not in "#;" and "=" in line:
            key, _, value = (part.strip() for part in line.partition("="))
            settings[section, key] = (*settings.get((section, key), ()), value) if value else ()
