"""Points at which the process that changes a machine is killed, and what has to become of each."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mco.plan.node import steps
from tests.daemon.crashing import BACKWARDS, POINTS, Deadly
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course, open_machine
from tests.recovery.driver import Recovery


class Kill(NamedTuple):
    """Beginning from `stage`, on the way to `first`, at a point of a journal entry; then, where `boot`, the
    whole machine goes down; then `desired` is wanted."""

    stage: str
    first: str
    entry: int
    point: str
    boot: bool
    desired: str

    def __str__(self) -> str:
        after = "machine" if self.boot else "process"
        return f"{self.stage}-{self.entry}-{self.point}-{after}-{self.desired}"


def kills(course: Course) -> Iterator[Kill]:
    for entry in course.entries:
        for point in POINTS:
            for boot in (False, True):
                for desired in (NEW_NAME, OLD_NAME):
                    yield Kill("begun", NEW_NAME, entry, point, boot, desired)
        for point in BACKWARDS:
            for boot in (False, True):
                yield Kill("performed", OLD_NAME, entry, point, boot, OLD_NAME)
                yield Kill("untaken", OLD_NAME, entry, point, boot, OLD_NAME)


def tried(course: Course, kill: Kill, folder: Path) -> str:
    """What is wrong afterwards, or nothing."""
    course.copy(kill.stage, folder).close()
    _die(kill, folder)
    machine = open_machine(folder)
    try:
        if kill.boot:
            machine.boot()
        recovery = Recovery(machine, kill.desired)
        step = recovery.run()
        if not isinstance(step, steps.AskForUncordon):
            return f"it ends with {step}"
        if recovery.reboots > (0 if _needs_no_reboot(kill) else 1):
            return f"{recovery.reboots} reboots"
        wrong = course.wrong(machine, kill.desired)
        return f"differs at {', '.join(wrong)}" if wrong else ""
    finally:
        machine.close()


def _needs_no_reboot(kill: Kill) -> bool:
    """Nothing has read what is taken back."""
    return kill.stage != "untaken" and not kill.boot and kill.desired == OLD_NAME


def _die(kill: Kill, folder: Path) -> None:
    process = os.fork()
    if process == 0:
        try:
            machine = open_machine(folder, Deadly(kill.entry, kill.point))
            Recovery(machine, kill.first).run()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status), f"{kill}: the point was not reached"
    assert os.WTERMSIG(status) == signal.SIGKILL
