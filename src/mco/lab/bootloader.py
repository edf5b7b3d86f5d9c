"""The boot loader of a machine: it chooses a boot entry and says what the kernel's command line is.

A container has no kernel of its own, so the launcher plays this part before each start: it reads the Boot
Loader Specification files of the machine's boot partition (a folder that is mounted on /boot) and writes
the options of the default entry where an early unit binds them over /proc/cmdline.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from pathlib import Path

import msgspec

from mco.base.errors import HostError

_LIMIT = 64 * 1024

_FIRST_ENTRY = """\
title Debian GNU/Linux 12 (bookworm)
version 1
linux /vmlinuz
options root=LABEL=root rw
"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A boot entry; `id` is its file name without `.conf`."""

    id: str
    title: str = ""
    version: str = ""
    linux: str = ""
    options: str = ""

    @property
    def command_line(self) -> str:
        return f"BOOT_IMAGE={self.linux} {self.options}".strip()


def install(boot: Path, arguments: str = "") -> None:
    """Writes the entry that a new machine boots, with `arguments` besides the image's own."""
    entries = boot / "loader" / "entries"
    entries.mkdir(parents=True)
    (entries / "debian-1.conf").write_text(f"{_FIRST_ENTRY.rstrip()} {arguments}".rstrip() + "\n")
    (boot / "loader" / "loader.conf").write_text("default debian-1\ntimeout 0\n")


def default_entry(boot: Path) -> Entry:
    """The entry that the next boot takes: the first, newest first, whose id `default` in loader.conf
    matches, or the newest one. Raises HostError if there is none."""
    folder = boot / "loader" / "entries"
    names = sorted((path.name for path in folder.glob("*.conf")), reverse=True) if folder.is_dir() else []
    entries = [_parse(name.removesuffix(".conf"), _read(folder / name)) for name in names]
    if not entries:
        raise HostError("no boot entry: the machine does not boot", path=str(folder))
    entries.sort(key=lambda entry: _version_key(entry.version), reverse=True)
    wanted = _keys(_read(boot / "loader" / "loader.conf")).get("default", "").removesuffix(".conf")
    return next((entry for entry in entries if fnmatch.fnmatchcase(entry.id, wanted)), entries[0])


def _parse(name: str, text: str) -> Entry:
    keys = _keys(text)
    return Entry(
        id=name,
        title=keys.get("title", ""),
        version=keys.get("version", ""),
        linux=keys.get("linux", ""),
        options=keys.get("options", ""),
    )


def _keys(text: str) -> dict[str, str]:
    """`options` may stand several times and adds up; of any other key the last one counts."""
    keys: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, _, value = line.strip().partition(" ")
        value = value.strip()
        keys[key] = f"{keys[key]} {value}" if key == "options" and key in keys else value
    return keys


def _version_key(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", version)]


def _read(path: Path) -> str:
    """A machine's root may put anything there: links are not followed (they would lead through the host's
    files), and only the beginning of a regular file is read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise HostError(f"boot loader file cannot be read: {error.strerror}", path=str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HostError("boot loader file is not a regular file", path=str(path))
        return os.read(fd, _LIMIT).decode(errors="replace")
    finally:
        os.close(fd)
