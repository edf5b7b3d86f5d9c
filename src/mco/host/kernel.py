"""Kernel arguments of the machine, kept in boot loader entries.

A change writes a new entry file: the vendor's default entry with our arguments at the end of its options.
The entry itself remembers, in comment lines that boot loaders skip, which arguments are ours and what
`default` was before, so that removing them is exact and never touches the vendor's own. The vendor's entries
are never changed, and the entry that was the default before stays beside the new one: a person at the console
can boot it. What makes the change is one atomic replacement of `loader.conf`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from mco.base.errors import Unsupported
from mco.host.bls import (
    BootEntry,
    checked_arguments,
    default_entry,
    default_pattern,
    entries_of,
    parse_entry,
    split_arguments,
    with_default,
)
from mco.host.root import Root

LOADER_FOLDERS = ("/boot/loader", "/efi/loader", "/boot/efi/loader")
CMDLINE_FILE = "/proc/cmdline"
_GRUB_STATE = ("/boot/grub/grubenv", "/boot/grub2/grubenv")
_OURS = re.compile(r"mco-(\d+)")
_ARGUMENTS_NOTE, _DEFAULT_NOTE = "mco-arguments", "mco-default"
_LIMIT = 1 << 20


class BootChange(msgspec.Struct, frozen=True, kw_only=True):
    """What `apply` will do: write an entry (unless empty), switch loader.conf, remove entries of ours that
    are no longer needed. `paths` are all files that it touches, for whoever keeps pre-images."""

    entry_path: str = ""
    entry: bytes = b""
    loader_path: str
    loader: bytes
    obsolete: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*([self.entry_path] if self.entry_path else []), self.loader_path, *self.obsolete)


class _Loader(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    text: str
    entries: tuple[BootEntry, ...]

    @property
    def default(self) -> BootEntry:
        found = default_entry(self.entries, default_pattern(self.text))
        assert found is not None  # there is at least one
        return found


class KernelArguments:
    """Everything but `running` raises Unsupported on a machine whose boot loader has no such entries."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def running(self) -> tuple[str, ...]:
        """Of the kernel that runs now."""
        return split_arguments(self._root.read_text(CMDLINE_FILE, _LIMIT))

    def configured(self) -> tuple[str, ...]:
        """Of the next boot: the default entry's, the vendor's and ours."""
        return self._loader().default.arguments

    def managed(self) -> tuple[str, ...]:
        """Those of `configured` that are ours."""
        return _managed(self._loader().default)

    def missing(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Those that the running kernel lacks. Counts and order do not matter (spec/daemon.md 7.1)."""
        running = frozenset(self.running())
        return tuple(word for word in checked_arguments(arguments) if word not in running)

    def prepare(self, arguments: Sequence[str]) -> BootChange | None:
        """The change after which exactly these arguments are ours, in this order and with duplicates kept.
        None when it is so already. Nothing is written."""
        wanted = checked_arguments(arguments)
        loader = self._loader()
        current = loader.default
        if _managed(current) == wanted:
            return None
        vendor = tuple(entry for entry in loader.entries if not _OURS.fullmatch(entry.id))
        pattern = default_pattern(loader.text)
        if _OURS.fullmatch(current.id):
            pattern = current.note(_DEFAULT_NOTE) or ""
        loader_path = f"{loader.folder}/loader.conf"
        base = default_entry(vendor, pattern)
        if base is not None and not wanted:
            text = with_default(loader.text, pattern)
            obsolete = _obsolete(loader, current.id)
            return BootChange(loader_path=loader_path, loader=_encode(text), obsolete=obsolete)
        name = f"mco-{1 + max((_number(entry) for entry in loader.entries), default=0)}"
        return BootChange(
            entry_path=f"{loader.folder}/entries/{name}.conf",
            entry=_encode(_entry_text(base or _without_ours(current), wanted, pattern)),
            loader_path=loader_path,
            loader=_encode(with_default(loader.text, f"{name}.conf")),
            obsolete=_obsolete(loader, current.id),
        )

    def apply(self, change: BootChange) -> None:
        """In an order in which a crash between two steps leaves a machine that boots."""
        if change.entry_path:
            self._root.write(change.entry_path, change.entry)
        self._root.write(change.loader_path, change.loader)
        for path in change.obsolete:
            self._root.remove(path)

    def set(self, arguments: Sequence[str]) -> bool:
        """`prepare` and `apply`; False when there was nothing to do."""
        change = self.prepare(arguments)
        if change is not None:
            self.apply(change)
        return change is not None

    def _loader(self) -> _Loader:
        for folder in LOADER_FOLDERS:
            names = [name for name in self._root.list(f"{folder}/entries") if name.endswith(".conf")]
            if names:
                break
        else:
            raise Unsupported(
                f"no boot loader entries in {LOADER_FOLDERS[0]}/entries",
                path=f"{LOADER_FOLDERS[0]}/entries",
                hint="use a boot loader that reads them, as systemd-boot does, or no kernel arguments",
            )
        conf = self._root.read_optional(f"{folder}/loader.conf", _LIMIT)
        if conf is None and any(self._root.exists(path) for path in _GRUB_STATE):
            raise Unsupported(
                "the boot loader is GRUB, whose default entry is not in loader.conf",
                path=f"{folder}/loader.conf",
                hint="use systemd-boot, or no kernel arguments",
            )
        files = {name: self._root.read_text(f"{folder}/entries/{name}", _LIMIT) for name in names}
        return _Loader(folder=folder, text=_decode(conf or b""), entries=tuple(entries_of(files)))


def _obsolete(loader: _Loader, current: str) -> tuple[str, ...]:
    """Entries of ours that are neither the new nor the previous one."""
    return tuple(
        f"{loader.folder}/entries/{entry.id}.conf"
        for entry in loader.entries
        if _OURS.fullmatch(entry.id) and entry.id != current
    )


def _managed(entry: BootEntry) -> tuple[str, ...]:
    if not _OURS.fullmatch(entry.id):
        return ()
    return tuple(msgspec.json.decode(entry.note(_ARGUMENTS_NOTE) or "[]", type=list[str]))


def _without_ours(entry: BootEntry) -> BootEntry:
    """The vendor's part of an entry of ours whose base is gone."""
    vendor = entry.arguments[: len(entry.arguments) - len(_managed(entry))]
    kept = tuple(line for line in entry.lines if not line.startswith(("#mco-", "options")))
    return parse_entry(entry.id, "\n".join((*kept, f"options {' '.join(vendor)}")))


def _entry_text(base: BootEntry, arguments: Sequence[str], pattern: str) -> str:
    lines = []
    for line in base.lines:
        key, _, value = line.strip().partition(" ")
        if key == "title":
            lines.append(f"title {value.strip()} (machine config)")
        elif key != "options" and not key.startswith("#mco-"):
            lines.append(line)
    ours = msgspec.json.encode(list(arguments)).decode()
    lines.append(f"options {' '.join((*base.arguments, *arguments))}")
    lines += [f"#{_ARGUMENTS_NOTE} {ours}", f"#{_DEFAULT_NOTE} {pattern}"]
    return "\n".join(lines) + "\n"


def _number(entry: BootEntry) -> int:
    match = _OURS.fullmatch(entry.id)
    return int(match[1]) if match else 0


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
