"""The boot loader of a machine: it chooses a boot entry and says what the kernel's command line is.

A container has no kernel of its own, so the launcher plays this part before each start: it reads the boot
loader entries of the machine's boot partition (a folder that is mounted on /boot) as systemd-boot would, and
writes the options of the default one where an early unit binds them over /proc/cmdline.
"""

from __future__ import annotations

from pathlib import Path

from mco.base.errors import HostError
from mco.host.bls import BootEntry, default_entry, default_pattern, entries_of
from mco.host.tree import Tree

_ENTRIES = "/loader/entries"
_CONF = "/loader/loader.conf"
_LIMIT = 1 << 20

_FIRST_ENTRY = """\
title Debian GNU/Linux 12 (bookworm)
version 1
linux /vmlinuz
options root=LABEL=root rw
"""


def install(boot: Path, arguments: str = "") -> None:
    """Makes the boot partition of a new machine, with `arguments` besides the image's own."""
    entries = boot / _ENTRIES.lstrip("/")
    entries.mkdir(parents=True)
    (entries / "debian-1.conf").write_text(f"{_FIRST_ENTRY.rstrip()} {arguments}".rstrip() + "\n")
    (boot / _CONF.lstrip("/")).write_text("default debian-1.conf\ntimeout 0\n")


def choose(boot: Path) -> BootEntry:
    """The entry that the next boot takes. Raises HostError if there is none, or it cannot be read."""
    # The machine's root may have put anything there: below the open folder, links lead nowhere else.
    with Tree(boot) as root:
        conf = root.read_optional(_CONF, _LIMIT) or b""
        names = [name for name in root.list(_ENTRIES) if name.endswith(".conf")]
        files = {name: root.read_text(f"{_ENTRIES}/{name}", _LIMIT) for name in names}
    entry = default_entry(entries_of(files), default_pattern(conf.decode(errors="replace")))
    if entry is None:
        raise HostError(
            "the machine has no boot entry and cannot boot",
            path=f"{boot}{_ENTRIES}",
            hint="write one there, as /boot/loader/entries of the machine had it",
        )
    return entry


def command_line(entry: BootEntry) -> str:
    """As the kernel shows it in /proc/cmdline."""
    return " ".join((f"BOOT_IMAGE={entry.value('linux')}", *entry.arguments))
