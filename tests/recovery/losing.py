"""Losses of power at every change that an update makes to the disk, and what has to become of each."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mco.api import names
from mco.host.commands import Output
from mco.host.fake import FakeMachine
from mco.host.fake.programs import FakePrograms
from mco.host.fake.state import StateFile
from mco.host.fake.units import Units
from mco.host.machine import Host
from mco.plan.node import steps
from tests.contract.host.powerloss import PowerLoss, Tree, build
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course, Stopped, open_machine
from tests.recovery.driver import Recovery


class Loss(NamedTuple):
    """A tree that may be found, and how it comes about first: power is lost after `change`."""

    change: int
    variant: str
    tree: frozenset[tuple[str, object]]


class Losses:
    """`points` counts all that may be found, `different` has each once."""

    def __init__(self) -> None:
        self.points = 0
        self.different: list[Loss] = []
        self._seen: set[frozenset[tuple[str, object]]] = set()

    def __call__(self, change: int, variant: str, tree: Tree) -> None:
        self.points += 1
        frozen = frozenset(tree.items())
        if frozen not in self._seen:
            self._seen.add(frozen)
            self.different.append(Loss(change, variant, frozen))


class _Programs(FakePrograms):
    """Programs of the machine, which do not sync the names that they change."""

    def __init__(self, power: PowerLoss, machine: FakeMachine, folder: Path) -> None:
        units = Units(machine.root, StateFile(folder / "machine" / "state.json"))
        super().__init__(machine.root, units, "", lambda reason: None)
        self._power = power

    def _execute(self, argv: Sequence[str], stdin: str | None, timeout: float) -> Output:
        self._power.foreign = True
        try:
            return super()._execute(argv, stdin, timeout)
        finally:
            self._power.foreign = False


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[tuple[FakeMachine, Losses]]:
    """A machine that never reboots, and every loss from now on."""
    losses = Losses()
    power = PowerLoss(folder / "root", losses)
    machine = open_machine(folder, power)
    machine.host = Host(machine.root, _Programs(power, machine, folder))
    try:
        yield machine, losses
    finally:
        machine.close()


def recorded(course: Course, stage: str, desired: str, folder: Path) -> Losses:
    """Every loss from `stage` until the machine is asked to reboot, or has gone back."""

    def look(step: steps.AnyStep) -> None:
        if isinstance(step, steps.Reboot):
            raise Stopped

    course.copy(stage, folder).close()
    with recording(folder) as (machine, losses), contextlib.suppress(Stopped):
        Recovery(machine, desired, before_step=look).run()
    return losses


def tried(course: Course, loss: Loss, desired: str, folder: Path) -> str:
    """What is wrong after the machine was switched on again, or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    build(dict(sorted(loss.tree)), folder / "root")  # type: ignore[arg-type]
    shutil.copytree(course.folder / "begun" / "machine", folder / "machine")
    machine = open_machine(folder)
    try:
        machine.boot()
        recovery = Recovery(machine, desired)
        step = recovery.run()
        if not isinstance(step, steps.AskForUncordon):
            return f"it ends with {step}"
        if recovery.reboots > 1:
            return f"{recovery.reboots} reboots"
        wrong = course.wrong(machine, desired, updated=desired == OLD_NAME)
        if left := _temporary(machine):
            return f"temporary files are left: {', '.join(left)}"
        return f"differs at {', '.join(wrong)}" if wrong else ""
    finally:
        machine.close()


def _temporary(machine: FakeMachine) -> list[str]:
    return [path for path, _ in machine.root.walk(names.STATE_FOLDER) if ".mcd-" in path]


WAYS = (("begun", NEW_NAME), ("performed", OLD_NAME), ("untaken", OLD_NAME))
"""What is recorded: an update, its undoing, and its undoing after a boot."""
