"""A folder that behaves like a machine.

The files are real, and so is everything that works on them: the same `Root`, journal, boot entries, unit
files and links of enabled units. Only owners (`owners.py`, when not root) and the programs of the
machine (`programs.py`) are replaced, statefully: a unit that was started stays active until it is stopped or
the machine reboots; a reboot changes the boot id, takes the kernel command line from the default boot entry,
empties /run and starts what is enabled.

    FOLDER/root      the machine's files
    FOLDER/machine   state.json (units, boots), owners
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from mco.base.errors import Conflict
from mco.host.effects import Effects
from mco.host.fake import skeleton
from mco.host.fake.owners import OwnerTable
from mco.host.fake.programs import FakePrograms, real_systemctl
from mco.host.fake.state import StateFile
from mco.host.fake.units import Units
from mco.host.identity import BOOT_ID_FILE
from mco.host.kernel import CMDLINE_FILE, KernelArguments
from mco.host.machine import Host
from mco.host.root import Root


class FakeMachine:
    """`on_reboot` is called when a reboot is queued, and whoever runs the machine then calls `boot`; without
    it the reboot happens at once. `as_root` False keeps owners in the side table even for root; `systemctl`
    empty uses our own implementation; `effects` replaces what works on the files."""

    def __init__(
        self,
        folder: Path,
        *,
        on_reboot: Callable[[], None] | None = None,
        as_root: bool | None = None,
        systemctl: str | None = None,
        effects: Effects | None = None,
    ) -> None:
        self.folder = folder
        self._on_reboot = on_reboot
        privileged = os.geteuid() == 0 if as_root is None else as_root
        owners = folder / "machine" / "owners"
        self.root = Root(
            folder / "root", effects=effects or (Effects() if privileged else OwnerTable(owners))
        )
        self._state = StateFile(folder / "machine" / "state.json")
        self._units = Units(self.root, self._state)
        path = real_systemctl() if systemctl is None else systemctl
        self.host = Host(self.root, FakePrograms(self.root, self._units, path, self._queue_reboot))

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        hostname: str = "fake",
        on_reboot: Callable[[], None] | None = None,
        as_root: bool | None = None,
        systemctl: str | None = None,
        effects: Effects | None = None,
    ) -> FakeMachine:
        """A new machine that has booted once. Raises Conflict when the folder has one."""
        if is_fake(folder / "root"):
            raise Conflict(f"{folder} is a machine already", path=str(folder), hint="use it, or remove it")
        (folder / "root").mkdir(parents=True)
        (folder / "machine").mkdir(mode=0o700)
        machine = cls(folder, on_reboot=on_reboot, as_root=as_root, systemctl=systemctl, effects=effects)
        skeleton.fill(machine.root, hostname)
        machine.boot()
        return machine

    @property
    def pending_reboot(self) -> str | None:
        """Why a reboot is due."""
        return self._state.read().pending

    @property
    def boots(self) -> int:
        return self._state.read().boots

    def boot(self) -> None:
        """From off or from running, as after a reboot, a crash or a loss of power."""
        state = self._state.read()
        self._state.write(msgspec.structs.replace(state, boots=state.boots + 1, pending=None, units={}))
        for name in self.root.list("/run"):
            self.root.remove_tree(f"/run/{name}")
        self.root.write(BOOT_ID_FILE, f"{uuid.uuid4()}\n".encode(), mode=0o444)
        arguments = " ".join(KernelArguments(self.root).configured())
        self.root.write(CMDLINE_FILE, f"{arguments}\n".encode("utf-8", "surrogateescape"), mode=0o444)
        self._units.start_enabled()

    def close(self) -> None:
        self.host.close()

    def _queue_reboot(self, reason: str) -> None:
        self._state.write(msgspec.structs.replace(self._state.read(), pending=reason))
        if self._on_reboot is None:
            self.boot()
        else:
            self._on_reboot()


def is_fake(root: Path) -> bool:
    """Whether a root directory is that of a directory-rooted host."""
    return (root.parent / "machine" / "state.json").is_file()
