"""Symbolic links that somebody laid on the way must not lead out of the root."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mco.host.errors import FileError
from mco.host.root import Root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "victim").write_text("untouched")
    return folder


def assert_untouched(outside: Path) -> None:
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"victim": "untouched"}


Target = Callable[[Path], str]
_TARGETS: dict[str, Target] = {
    "absolute": str,
    "relative": lambda outside: "../../outside",
    "many dots": lambda outside: "../" * 40 + str(outside).lstrip("/"),
    "through proc": lambda outside: f"/proc/self/root{outside}",
}


@pytest.mark.parametrize("target", _TARGETS.values(), ids=_TARGETS)
def test_a_link_on_the_way_does_not_lead_out(
    root: Root, folder: Path, outside: Path, target: Callable[[Path], str]
) -> None:
    (folder / "etc").mkdir()
    (folder / "etc" / "evil").symlink_to(target(outside))
    assert root.stat("/etc/evil/victim") is None
    assert root.read_optional("/etc/evil/victim") is None
    changes: list[Callable[[], object]] = [
        lambda: root.write("/etc/evil/victim", b"changed"),
        lambda: root.write("/etc/evil/new/deep", b"x"),
        lambda: root.symlink("/etc/evil/link", "x"),
        lambda: root.mkdir("/etc/evil/sub"),
    ]
    for change in changes:
        with pytest.raises(FileError) as caught:
            change()
        assert "/etc/evil" in caught.value.hint
    assert root.remove("/etc/evil/victim") is False
    root.remove_tree("/etc/evil")
    assert_untouched(outside)


def test_an_absolute_link_starts_at_the_root(root: Root, folder: Path) -> None:
    root.mkdir("/usr/etc")
    (folder / "etc").symlink_to("/usr/etc")
    root.write("/etc/motd", b"1")
    assert (folder / "usr" / "etc" / "motd").read_bytes() == b"1"
    assert root.read("/etc/motd") == b"1"


def test_dots_in_a_link_end_at_the_root(root: Root, folder: Path) -> None:
    root.mkdir("/a/b")
    (folder / "a" / "b" / "up").symlink_to("../../../../../../a")
    root.write("/a/b/up/f", b"1")
    assert (folder / "a" / "f").read_bytes() == b"1"


def test_a_link_at_the_path_is_replaced_and_not_followed(root: Root, folder: Path, outside: Path) -> None:
    (folder / "motd").symlink_to(outside / "victim")
    root.write("/motd", b"ours", mode=0o600)
    status = root.stat("/motd")
    assert status is not None
    assert status.is_file
    assert_untouched(outside)
    (folder / "link").symlink_to(outside / "victim")
    with pytest.raises(FileError):
        root.set_owner_and_mode("/link", 0o777, (1, 1))
    with pytest.raises(FileError):
        root.append("/link")
    assert (outside / "victim").stat().st_mode & 0o777 == 0o644 & ~_umask()
    assert_untouched(outside)


def test_the_link_itself_is_seen_by_stat_and_removed(root: Root, folder: Path, outside: Path) -> None:
    (folder / "link").symlink_to(outside)
    status = root.stat("/link")
    assert status is not None
    assert (status.is_symlink, status.target) == (True, str(outside))
    assert root.remove("/link")
    assert_untouched(outside)


def test_links_in_a_circle_are_an_error_that_says_so(root: Root, folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    with pytest.raises(FileError, match="too many levels of symbolic links") as caught:
        root.write("/a/f", b"")
    assert "circle" in caught.value.hint


def test_reading_may_follow_the_last_link_or_not(root: Root) -> None:
    root.write("/usr/lib/os-release", b"ID=x")
    root.symlink("/etc/os-release", "../usr/lib/os-release")
    assert root.read("/etc/os-release") == b"ID=x"
    with pytest.raises(FileError):
        root.read("/etc/os-release", follow=False)


def test_below_confines_a_user_to_their_home(root: Root, folder: Path) -> None:
    root.mkdir("/home/core")
    root.write("/etc/shadow", b"secret")
    (folder / "home" / "core" / ".ssh").symlink_to("/etc")
    (folder / "home" / "core" / "up").symlink_to("../../etc")
    with root.below("/home/core") as home:
        assert home.stat("/.ssh/shadow") is None
        assert home.stat("/up/shadow") is None
        assert home.list("/") == [".ssh", "up"]


def test_a_directory_exchanged_for_a_link_while_we_write(root: Root, folder: Path, outside: Path) -> None:
    """Somebody swaps a directory and a link out of the root as fast as they can. Each write lands below the
    root or fails; outside nothing ever changes."""
    (folder / "dir").mkdir()
    (folder / "dir" / "sub").mkdir()
    (folder / "evil").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            exchange(folder / "dir", folder / "evil")

    thread = threading.Thread(target=swap)
    thread.start()
    operations: list[Callable[[], object]] = [
        lambda: root.write("/dir/victim", b"changed"),
        lambda: root.remove("/dir/victim"),
        lambda: root.mkdir("/dir/sub/deep"),
        lambda: root.remove_tree("/dir/sub"),
        lambda: root.symlink("/dir/link", "x"),
    ]
    outcomes: Counter[bool] = Counter()
    try:
        while min(outcomes[True], outcomes[False]) < 40:
            for operation in operations:
                try:
                    operation()
                    outcomes[True] += 1
                except FileError:
                    outcomes[False] += 1
    finally:
        done.set()
        thread.join()
    assert_untouched(outside)


def exchange(one: Path, other: Path) -> None:
    """Both names change places in one step."""
    libc = ctypes.CDLL(None, use_errno=True)
    here, rename_exchange = -100, 2
    if libc.renameat2(here, bytes(one), here, bytes(other), rename_exchange) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
