from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mco.base.errors import InvalidInput
from mco.host.errors import FileError
from mco.host.root import Root

Bytes = st.binary(max_size=300)


def test_a_file_has_bytes_mode_and_owner_and_its_parents_are_made(root: Root) -> None:
    root.write("/etc/app/deep/conf", b"\x00data", mode=0o640, owner=(1000, 27), dir_mode=0o750)
    status = root.stat("/etc/app/deep/conf")
    parent = root.stat("/etc/app")
    assert status is not None
    assert parent is not None
    assert root.read("/etc/app/deep/conf") == b"\x00data"
    assert (status.mode, status.owner, status.size) == (stat.S_IFREG | 0o640, (1000, 27), 5)
    assert (parent.mode, parent.owner) == (stat.S_IFDIR | 0o750, (0, 0))


@pytest.mark.parametrize("mode", [0o000, 0o200, 0o444, 0o755, 0o4755, 0o2711, 0o1777])
def test_every_mode_is_kept_and_the_file_stays_readable_to_us(root: Root, mode: int) -> None:
    root.write("/f", b"x", mode=mode, owner=(5, 6))
    status = root.stat("/f")
    assert status is not None
    assert status.permissions == mode
    assert root.read("/f") == b"x"


def test_the_umask_has_no_say(root: Root) -> None:
    before = os.umask(0o077)
    try:
        root.write("/a/f", b"", mode=0o666, dir_mode=0o775)
    finally:
        os.umask(before)
    file, folder = root.stat("/a/f"), root.stat("/a")
    assert file is not None
    assert folder is not None
    assert (file.permissions, folder.permissions) == (0o666, 0o775)


def test_existing_directories_stay_as_they_are(root: Root) -> None:
    root.mkdir("/etc/app", 0o700, (3, 4))
    root.write("/etc/app/f", b"", dir_mode=0o755)
    root.mkdir("/etc/app", 0o755, (0, 0))
    status = root.stat("/etc/app")
    assert status is not None
    assert (status.permissions, status.owner) == (0o700, (3, 4))


def test_a_new_file_does_not_inherit_what_was_there(root: Root) -> None:
    root.write("/f", b"old", mode=0o4777, owner=(7, 7))
    root.write("/f", b"new")
    status = root.stat("/f")
    assert status is not None
    assert (status.permissions, status.owner, root.read("/f")) == (0o644, (0, 0), b"new")


def test_nothing_but_the_file_is_left_in_the_directory(root: Root, folder: Path) -> None:
    root.write("/d/f", b"1")
    root.write("/d/f", b"2")
    root.symlink("/d/l", "f")
    root.symlink("/d/l", "g")
    assert sorted(os.listdir(folder / "d")) == ["f", "l"]


def test_missing_things_are_absent_and_no_error(root: Root) -> None:
    root.write("/file", b"")
    assert root.stat("/no/such") is None
    assert root.stat("/file/below") is None
    assert root.list("/no") == []
    assert list(root.walk("/no")) == []
    assert root.read_optional("/file/below") is None
    assert root.remove("/no/such") is False
    with pytest.raises(FileError, match=r"^read /no/such: no such file or directory$"):
        root.read("/no/such")


def test_a_file_longer_than_the_limit_is_refused_and_one_as_long_is_not(root: Root) -> None:
    root.write("/f", b"12345")
    assert root.read("/f", 5) == b"12345"
    with pytest.raises(FileError, match="more than 4 bytes"):
        root.read("/f", 4)


def test_what_is_no_file_is_not_read_and_does_not_block(root: Root, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(FileError, match="not a regular file"):
        root.read("/pipe")
    with pytest.raises(FileError, match="is a directory"):
        root.read("/")


def test_a_directory_in_the_way_is_named(root: Root) -> None:
    root.mkdir("/etc/motd")
    with pytest.raises(FileError, match=r"^write /etc/motd: is a directory$") as caught:
        root.write("/etc/motd", b"x")
    assert caught.value.path == "/etc/motd"
    assert root.list("/etc") == ["motd"]


def test_a_file_below_a_regular_file_is_refused(root: Root) -> None:
    root.write("/etc/motd", b"x")
    with pytest.raises(FileError, match=r"^write /etc/motd/below: not a directory$") as caught:
        root.write("/etc/motd/below", b"y")
    assert "not a directory" in caught.value.hint
    assert root.read("/etc/motd") == b"x"


@pytest.mark.parametrize("path", ["etc/motd", "", "/etc/../motd", "/..", "/etc/mo\0td", "../x"])
def test_paths_that_are_no_wish_are_refused_before_anything_happens(root: Root, path: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: root.write(path, b""),
        lambda: root.read(path),
        lambda: root.stat(path),
        lambda: root.symlink(path, "x"),
        lambda: root.remove(path),
        lambda: root.mkdir(path),
        lambda: root.list(path),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            call()
    assert root.list("/") == []


def test_the_root_itself_cannot_be_replaced(root: Root) -> None:
    with pytest.raises(InvalidInput, match="root directory"):
        root.write("/", b"")
    with pytest.raises(InvalidInput, match="root directory"):
        root.symlink("//.", "x")


def test_spellings_of_a_path_are_one_path(root: Root) -> None:
    root.write("//etc/./app//f", b"1")
    assert root.read("/etc/app/f") == b"1"


def test_names_that_are_not_utf_8_are_kept(root: Root, folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    root.write(f"/d/{name}", b"1")
    assert os.listdir(bytes(folder / "d")) == [b"caf\xe9"]
    assert root.list("/d") == [name]
    root.mkdir(f"/d/{name}.d")
    with pytest.raises(FileError) as caught:
        root.write(f"/d/{name}.d", b"")
    assert str(caught.value) == r"write /d/caf\xe9.d: is a directory"


def test_a_name_of_255_bytes_works_and_one_more_does_not(root: Root) -> None:
    longest = "é" * 127 + "x"
    root.write(f"/{longest}", b"1")
    assert root.list("/") == [longest]
    with pytest.raises(FileError, match="file name too long"):
        root.write(f"/{longest}y", b"1")
    assert root.list("/") == [longest]


def test_walk_lists_parents_first_and_follows_no_links(root: Root) -> None:
    root.write("/a/b/c", b"")
    root.symlink("/a/loop", "/a")
    assert [path for path, _ in root.walk("/a")] == ["/a", "/a/b", "/a/b/c", "/a/loop"]


def test_remove_tree_leaves_what_links_point_to(root: Root) -> None:
    root.write("/keep/f", b"1")
    root.write("/gone/x/y", b"")
    root.symlink("/gone/link", "/keep")
    root.remove_tree("/gone")
    assert root.list("/") == ["keep"]
    assert root.read("/keep/f") == b"1"


def test_copy_keeps_everything_a_file_has(root: Root, folder: Path) -> None:
    root.write("/a", b"x" * 3_000_000, mode=0o4711, owner=(9, 8), mtime_ns=1_000_000_007)
    os.setxattr(folder / "a", "user.note", b"v")
    root.copy("/a", "/b/a")
    status = root.stat("/b/a")
    assert status is not None
    assert (status.permissions, status.owner, status.mtime_ns) == (0o4711, (9, 8), 1_000_000_007)
    assert root.read("/b/a") == b"x" * 3_000_000
    assert root.xattrs("/b/a")["user.note"] == b"v"
    root.symlink("/l", "/a", owner=(2, 3))
    root.copy("/l", "/b/l")
    link = root.stat("/b/l")
    assert link is not None
    assert (link.target, link.owner) == ("/a", (2, 3))


def test_left_overs_of_a_crash_are_swept_and_nothing_else(root: Root, folder: Path) -> None:
    root.write("/d/.hidden", b"1")
    root.write("/d/f.mcd-0123456789ab", b"1")
    (folder / "d" / ".f.mcd-0123456789ab").write_bytes(b"half")
    assert root.sweep("/d") == ["/d/.f.mcd-0123456789ab"]
    assert root.list("/d") == [".hidden", "f.mcd-0123456789ab"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), Bytes, st.integers(0, 0o7777), st.integers(0, 70000))))
def test_what_was_written_last_is_there(root: Root, writes: list[tuple[str, bytes, int, int]]) -> None:
    expected: dict[str, tuple[bytes, int, int]] = {}
    for name, data, mode, uid in writes:
        root.write(f"/w/{name}", data, mode=mode, owner=(uid, uid))
        expected[name] = (data, mode, uid)
    for name, (data, mode, uid) in expected.items():
        status = root.stat(f"/w/{name}")
        assert status is not None
        assert (root.read(f"/w/{name}"), status.permissions, status.owner) == (data, mode, (uid, uid))
