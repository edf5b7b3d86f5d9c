"""What the system refuses is an error with path and system error, and leaves what was there before."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mco.host.errors import FileError
from mco.host.journal import Journal
from mco.host.preimage import capture, restore
from mco.host.root import Root
from tests.contract.host.conftest import needs_root
from tests.smalldisk import fill, remount

pytestmark = needs_root


@pytest.fixture
def small(mounted: Path) -> Iterator[Root]:
    with Root(mounted) as root:
        yield root


def test_a_full_disk_loses_nothing_and_works_again_when_there_is_room(small: Root, mounted: Path) -> None:
    small.write("/etc/motd", b"old")
    fill(mounted)
    with pytest.raises(FileError, match=r"^write /etc/motd: no space left on device$") as caught:
        small.write("/etc/motd", b"n" * 5000)
    assert (caught.value.path, caught.value.errno) == ("/etc/motd", errno.ENOSPC)
    assert "free some space" in caught.value.hint
    assert small.read("/etc/motd") == b"old"
    assert small.list("/etc") == ["motd"]
    os.unlink(mounted / "ballast")
    small.write("/etc/motd", b"n" * 5000)
    assert small.read("/etc/motd") == b"n" * 5000


def test_a_file_larger_than_the_disk_leaves_no_part_of_it(small: Root) -> None:
    with pytest.raises(FileError, match="no space left on device"):
        small.write("/etc/app/huge", b"x" * 200_000)
    assert small.list("/etc/app") == []


def test_a_pre_image_is_restored_to_a_disk_that_has_room_again(small: Root, mounted: Path) -> None:
    small.write("/f", b"o" * 8000)
    image = capture(small, "/f")
    small.write("/f", b"")
    fill(mounted)
    with pytest.raises(FileError, match="no space left"):
        restore(small, image)
    os.unlink(mounted / "ballast")
    restore(small, image)
    assert small.read("/f") == b"o" * 8000


def test_a_journal_on_a_full_disk_refuses_the_action_and_stays_whole(small: Root, mounted: Path) -> None:
    journal = Journal(small, "/journal")
    journal.begin("a", "b", "boot", ["x" * 100] * 3)
    fill(mounted)

    def all_actions() -> None:
        for index in range(3):
            journal.before(index, [], note="n" * 5000)

    with pytest.raises(FileError, match="no space left"):
        all_actions()
    found = Journal(small, "/journal").read()
    assert found is not None
    reached = sum(action.phase == "started" for action in found.actions)
    os.unlink(mounted / "ballast")
    journal.before(reached, [], note="again")
    journal.close()
    again = Journal(small, "/journal").read()
    assert again is not None
    assert [action.phase for action in again.actions[: reached + 1]] == ["started"] * (reached + 1)


def test_a_read_only_file_system_is_named_and_changes_nothing(small: Root, mounted: Path) -> None:
    small.write("/etc/motd", b"old")
    remount(mounted, "ro")
    with pytest.raises(FileError, match=r"^write /etc/motd: read-only file system$") as caught:
        small.write("/etc/motd", b"new")
    assert "mount the file system writable" in caught.value.hint
    with pytest.raises(FileError, match=r"^mkdir /var/lib: read-only file system$"):
        small.mkdir("/var/lib")
    with pytest.raises(FileError, match=r"^remove /etc/motd: read-only file system$"):
        small.remove("/etc/motd")
    remount(mounted, "rw")
    small.write("/etc/motd", b"new")
    assert small.read("/etc/motd") == b"new"


@pytest.fixture
def fixed(tmp_path: Path) -> Iterator[Path]:
    """A folder with an immutable file and an immutable folder."""
    folder = tmp_path / "fixed"
    (folder / "locked").mkdir(parents=True)
    (folder / "motd").write_text("old")
    done = subprocess.run(
        ["chattr", "+i", folder / "motd", folder / "locked"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this file system has no immutable flag")
    yield folder
    subprocess.run(["chattr", "-i", folder / "motd", folder / "locked"], check=True)


def test_an_immutable_file_or_folder_is_named_with_the_way_out(fixed: Path) -> None:
    with Root(fixed) as root:
        with pytest.raises(FileError, match=r"^write /motd: operation not permitted$") as caught:
            root.write("/motd", b"new")
        assert caught.value.hint == "it is immutable; allow changes with: chattr -i -a /motd"
        assert (root.read("/motd"), root.list("/")) == (b"old", ["locked", "motd"])
        with pytest.raises(FileError, match=r"^write /locked/f: operation not permitted$") as caught:
            root.write("/locked/f", b"new")
        assert caught.value.hint.endswith("chattr -i -a /locked")
        with pytest.raises(FileError, match=r"^remove /motd: operation not permitted$"):
            root.remove("/motd")


def test_a_root_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"open root .*: no such file or directory"):
        Root(tmp_path / "missing")
