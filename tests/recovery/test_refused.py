"""The disk is full, cannot be written, fails, or has an immutable file at any action: the update is undone,
at once or as soon as the disk lets it, and succeeds when the cause is gone."""

from __future__ import annotations

import errno
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course, open_machine
from tests.recovery.refusing import changes, failure, lasting, once
from tests.smalldisk import fill, small_disk

pytestmark = pytest.mark.timeout(600)

_SHARE = 61


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_from_some_change_on(course: Course, points: Counter[str], tmp_path: Path, number: int) -> None:
    folder = tmp_path / "machine"
    chosen = [
        (first, desired)
        for first in range(1, changes(course, folder) + 1, _SHARE)
        for desired in (NEW_NAME, OLD_NAME)
    ]
    points[f"refused from a change on, {errno.errorcode[number]}"] += len(chosen)
    wrong = {point: lasting(course, number, *point, folder) for point in chosen}
    assert {point: text for point, text in wrong.items() if text} == {}


def test_one_change_only(course: Course, points: Counter[str], tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    chosen = range(1, changes(course, folder) + 1, _SHARE // 2)
    points["one failed change"] += len(chosen)
    wrong = {first: once(course, first, folder) for first in chosen}
    assert {first: text for first, text in wrong.items() if text} == {}


def test_more_and_more_room(course: Course, points: Counter[str], tmp_path: Path) -> None:
    """A real file system, on which more and more pages are free."""
    with small_disk("4m") as disk:
        machine = _on(disk, course, tmp_path / "machine")
        ballast = fill(disk)
        for room in range(0, 1 << 20, 9 * 4096):
            os.truncate(ballast, ballast.stat().st_size - (9 * 4096 if room else 0))
            points["room on a full disk"] += 1
            reason = failure(machine)
            if not reason:
                break
            assert "no space left on device" in reason
        else:
            raise AssertionError("it never fits")
        ballast.unlink()
        assert points["room on a full disk"] > 3
        assert course.wrong(machine, NEW_NAME) == []
        machine.close()


def _on(disk: Path, course: Course, folder: Path) -> FakeMachine:
    course.copy("begun", folder).close()
    for path in (folder / "root").iterdir():
        subprocess.run(["cp", "-a", path, disk], check=True)
    subprocess.run(["rm", "-r", folder / "root"], check=True)
    (folder / "root").symlink_to(disk)
    disk.chmod(0o755)
    return open_machine(folder)


def test_an_immutable_file_at_each_action(course: Course, points: Counter[str], tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    for path in _touched(course):
        course.copy("begun", folder).close()
        place = folder / "root" / path.lstrip("/")
        if not _set(place, "+i"):
            pytest.skip("this file system has no immutable flag")
        machine = open_machine(folder)
        try:
            reason = failure(machine)
            wrong = course.wrong(machine, OLD_NAME)
        finally:
            _set(place, "-i")
        points["immutable files"] += 1
        assert "operation not permitted" in reason, path
        assert wrong == [], path
        assert failure(machine) == "", path
        assert course.wrong(machine, NEW_NAME) == [], path
        machine.close()


def _set(path: Path, flag: str) -> bool:
    return subprocess.run(["chattr", flag, path], capture_output=True, check=False).returncode == 0


def _touched(course: Course) -> list[str]:
    """For each action one file or folder that it cannot do without."""
    machine = open_machine(course.folder / "performed")
    state = Journal(machine.root).read()
    machine.close()
    assert state is not None
    places: dict[str, None] = {}
    for entry in course.entries:
        images = state.actions[entry].images
        if images:
            places.setdefault(_existing(course, images[0].path))
    places.setdefault("/etc/shadow")
    places.setdefault("/etc/systemd/system/multi-user.target.wants")
    return list(places)


def _existing(course: Course, path: str) -> str:
    """The path before the update, or the next folder above it that there was."""
    while path not in course.old:
        path = path.rpartition("/")[0] or "/"
    return path
