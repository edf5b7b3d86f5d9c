"""Where a node stands on its way from OLD to NEW, as folders to start from, and the trees that it may end
with."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.kernel import CMDLINE_FILE
from mco.plan.node import steps
from tests.daemon import everykind
from tests.daemon.everykind import NEW_NAME, OLD_NAME, tree
from tests.recovery.driver import Recovery

VENDORS_ARGUMENTS = b"root=LABEL=root ro quiet\n"


class Unsynced(Effects):
    """For where no power is lost: everything but the waiting for a disk."""

    def sync(self, fd: int) -> None:
        pass


class Stopped(Exception):
    """The driver got as far as the test wanted."""


class Course:
    """`begun`: the node has OLD. `performed`: NEW is on the disk, the reboot is due. `untaken`: it has
    rebooted, and the boot loader passed none of the new kernel arguments. `complete`: it has NEW."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        everykind.make(folder / "begun")
        self.old = self._tree("begun")
        self._go("begun", "performed", until=steps.Reboot)
        self.entries = self._entries("performed")
        """Numbers of the actions that had something to do."""
        self._go("performed", "untaken", prepare=boot_with_vendors_arguments, until=steps.Verify)
        self._go("performed", "complete")
        self.new = self._tree("complete")
        self._go("complete", "back", OLD_NAME)
        self.back = self._tree("back")
        """A way back by a second update leaves empty folders and counts its boot entry on."""

    def copy(self, stage: str, target: Path) -> FakeMachine:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", self.folder / stage, target], check=True)
        return open_machine(target)

    def wrong(self, machine: FakeMachine, desired: str, *, updated: bool = False) -> list[str]:
        """Paths at which a machine is not exactly what it shall be. `updated`: it may have had NEW for a
        while, and have come back by another update."""
        found = tree(machine.root)
        wanted = [self.new] if desired == NEW_NAME else [self.old, self.back] if updated else [self.old]
        differing = [sorted(p for p in {*found, *w} if found.get(p) != w.get(p)) for w in wanted]
        return min(differing, key=len)

    def _tree(self, stage: str) -> dict[str, tuple[object, ...]]:
        machine = open_machine(self.folder / stage)
        found = tree(machine.root)
        machine.close()
        return found

    def _entries(self, stage: str) -> list[int]:
        machine = open_machine(self.folder / stage)
        try:
            return everykind.acted(machine.root)
        finally:
            machine.close()

    def _go(
        self,
        stage: str,
        new_stage: str,
        desired: str = NEW_NAME,
        *,
        prepare: Callable[[FakeMachine], None] = lambda machine: None,
        until: type[steps.Step] | None = None,
    ) -> None:
        machine = self.copy(stage, self.folder / new_stage)
        prepare(machine)

        def look(step: steps.AnyStep) -> None:
            if until is not None and isinstance(step, until):
                raise Stopped

        try:
            step = Recovery(machine, desired, before_step=look).run()
            assert isinstance(step, steps.AskForUncordon), step
        except Stopped:
            pass
        machine.close()


def open_machine(folder: Path, effects: Effects | None = None) -> FakeMachine:
    return FakeMachine(folder, systemctl="", effects=effects or Unsynced())


def boot_with_vendors_arguments(machine: FakeMachine) -> None:
    """What a boot loader does that ignores its entries, and a person who chooses another entry."""
    machine.boot()
    machine.root.write(CMDLINE_FILE, VENDORS_ARGUMENTS, mode=0o444)


def is_root() -> bool:
    return os.geteuid() == 0
