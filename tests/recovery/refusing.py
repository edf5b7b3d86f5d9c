"""A file system that refuses: from one change on, or one change only."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from mco.base.errors import HostError
from mco.daemon.perform import Failed, UndoFailed
from mco.host.fake import FakeMachine
from mco.plan.node import steps
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course, Stopped, Unsynced, open_machine
from tests.recovery.driver import Recovery

NEVER = 1 << 30


class Refusing(Unsynced):
    """`lasting`: from change `first` on, whatever needs room (ENOSPC) or any change (other numbers) is
    refused; otherwise change `first` alone. Nothing is refused once `first` is past everything."""

    def __init__(self, number: int, first: int, *, lasting: bool) -> None:
        self.changes = 0
        self.number = number
        self.first = first
        self._lasting = lasting

    def create(self, folder: int, name: str, mode: int) -> int:
        self._ask(needs_room=True)
        return super().create(folder, name, mode)

    def write(self, fd: int, data: bytes) -> None:
        self._ask(needs_room=True)
        super().write(fd, data)

    def chmod(self, fd: int, mode: int) -> None:
        self._ask()
        super().chmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        self._ask()
        super().chown(fd, uid, gid)

    def sync(self, fd: int) -> None:
        self._ask()

    def rename(self, folder: int, old: str, new: str) -> None:
        self._ask()
        super().rename(folder, old, new)

    def symlink(self, folder: int, name: str, target: str) -> None:
        self._ask(needs_room=True)
        super().symlink(folder, name, target)

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        self._ask(needs_room=True)
        super().mkdir(folder, name, mode)

    def unlink(self, folder: int, name: str) -> None:
        self._ask()
        super().unlink(folder, name)

    def rmdir(self, folder: int, name: str) -> None:
        self._ask()
        super().rmdir(folder, name)

    def _ask(self, *, needs_room: bool = False) -> None:
        self.changes += 1
        refused = self.changes >= self.first if self._lasting else self.changes == self.first
        if refused and (needs_room or self.number != errno.ENOSPC):
            raise OSError(self.number, os.strerror(self.number))


def changes(course: Course, folder: Path) -> int:
    """How many changes an update makes before its reboot."""
    counting = Refusing(0, NEVER, lasting=True)
    course.copy("begun", folder).close()
    machine = open_machine(folder, counting)

    def look(step: steps.AnyStep) -> None:
        if isinstance(step, steps.Reboot):
            raise Stopped

    with suppress(Stopped):
        Recovery(machine, before_step=look).run()
    machine.close()
    return counting.changes


def lasting(course: Course, number: int, first: int, desired: str, folder: Path) -> str:
    """What is wrong once the disk takes changes again and `desired` is wanted, or nothing."""
    course.copy("begun", folder).close()
    refusing = Refusing(number, first, lasting=True)
    machine = open_machine(folder, refusing)
    try:
        if not failure(machine) and number != errno.ENOSPC:
            return "it did not fail"
        refusing.first = NEVER
        Recovery(machine, desired).run()
        return ", ".join(course.wrong(machine, desired, updated=True))
    finally:
        machine.close()


def once(course: Course, first: int, folder: Path) -> str:
    """What is wrong after one change failed: the update is undone at once, and succeeds the next time."""
    course.copy("begun", folder).close()
    machine = open_machine(folder, Refusing(errno.EIO, first, lasting=False))
    try:
        reason = failure(machine)
        if reason and "input/output error" not in reason:
            return f"the reason is {reason}"
        wrong = course.wrong(machine, OLD_NAME if reason else NEW_NAME)
        return ", ".join(wrong) or failure(machine)
    finally:
        machine.close()


def failure(machine: FakeMachine) -> str:
    """Why an update of it to NEW failed; nothing when it did not. Any other error is a defect."""
    try:
        step = Recovery(machine, NEW_NAME).run()
    except (Failed, UndoFailed, HostError) as error:
        return str(error) or "no reason"
    assert isinstance(step, steps.AskForUncordon), step
    return ""
