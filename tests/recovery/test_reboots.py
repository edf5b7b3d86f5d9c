"""Power that goes between two steps, reboots that do not happen, kernel arguments that do not take, and a
config with which the machine does not come up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mco.host.bls import parse_entry
from mco.host.fake import FakeMachine
from mco.host.kernel import CMDLINE_FILE
from mco.plan.node import steps
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course, Stopped, Unsynced, open_machine
from tests.recovery.driver import Recovery

pytestmark = pytest.mark.timeout(600)

_ENTRIES = "/boot/loader/entries"


def _steps(course: Course, folder: Path, desired: str) -> int:
    taken: list[steps.AnyStep] = []
    machine = course.copy("begun" if desired == NEW_NAME else "performed", folder)
    Recovery(machine, desired, before_step=taken.append).run()
    machine.close()
    return len(taken)


@pytest.mark.parametrize(("stage", "desired"), [("begun", NEW_NAME), ("performed", OLD_NAME)])
def test_power_lost_between_two_steps(
    course: Course, points: Counter[str], tmp_path: Path, stage: str, desired: str
) -> None:
    """Between writing and the reboot, between the reboot and the verification, and everywhere else."""
    folder = tmp_path / "machine"
    for number in range(_steps(course, folder, desired)):
        points["losses of power between two steps"] += 1
        machine = course.copy(stage, folder)
        first = _interrupted(machine, desired, number)
        machine.boot()
        second = Recovery(machine, desired)
        assert isinstance(second.run(), steps.AskForUncordon), number
        # A machine that has booted with NEW has it, and goes back by another update.
        assert course.wrong(machine, desired, updated=True) == [], number
        assert first.reboots + second.reboots <= 1, number
        machine.close()


def _interrupted(machine: FakeMachine, desired: str, number: int) -> Recovery:
    taken: list[steps.AnyStep] = []

    def look(step: steps.AnyStep) -> None:
        if len(taken) == number:
            raise Stopped
        taken.append(step)

    recovery = Recovery(machine, desired, before_step=look)
    with pytest.raises(Stopped):
        recovery.run()
    return recovery


def test_a_reboot_that_does_not_happen(course: Course, tmp_path: Path) -> None:
    """Asked for three times and then said, until the machine reboots or the config is withdrawn."""
    folder = tmp_path / "machine"
    for desired in (NEW_NAME, OLD_NAME):
        course.copy("begun", folder).close()
        machine = FakeMachine(folder, on_reboot=lambda: None, systemctl="", effects=Unsynced())
        recovery = Recovery(machine)
        step = recovery.run()
        assert isinstance(step, steps.Degrade)
        assert step.text == f"the machine did not reboot into {NEW_NAME}, it was asked 3 times"
        assert recovery.reboots == 3
        if desired == NEW_NAME:
            machine.boot()
        assert isinstance(Recovery(machine, desired).run(), steps.AskForUncordon)
        assert course.wrong(machine, desired) == []
        machine.close()


def _boot_by_hand(machine: FakeMachine, entry: str) -> None:
    """A person at the console chooses an entry once; the default stays."""
    machine.boot()
    chosen = parse_entry(entry, machine.root.read_text(f"{_ENTRIES}/{entry}.conf"))
    machine.root.write(CMDLINE_FILE, f"{' '.join(chosen.arguments)}\n".encode(), mode=0o444)


@pytest.mark.parametrize("entry", ["mco-1", "debian"])
def test_a_config_with_which_the_machine_does_not_come_up(course: Course, tmp_path: Path, entry: str) -> None:
    """The entry before is still there, and a person chooses it. The new one is tried once more, then the node
    waits with the exact difference; nothing is lost, and the way back is one reboot."""
    folder = tmp_path / "machine"
    course.copy("begun", folder).close()
    machine = FakeMachine(
        folder, systemctl="", effects=Unsynced(), on_reboot=lambda: _boot_by_hand(machine, entry)
    )
    for reboots in (2, 0):
        recovery = Recovery(machine)
        step = recovery.run()
        assert isinstance(step, steps.Degrade)
        assert "missing: new=1 new=2" in step.text
        assert recovery.reboots == reboots
        assert machine.root.list(_ENTRIES) == ["debian.conf", "mco-1.conf", "mco-2.conf"]
        _boot_by_hand(machine, entry)
    machine.close()
    machine = open_machine(folder)
    back = Recovery(machine, OLD_NAME)
    assert isinstance(back.run(), steps.AskForUncordon)
    assert back.reboots == 1
    assert course.wrong(machine, OLD_NAME) == []
    machine.close()
