from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mco.host.errors import FileError
from mco.host.preimage import PreImage, capture, restore
from mco.host.root import Root
from mco.host.tree import Stat


def snapshot(root: Root) -> dict[str, tuple[int, tuple[int, int], str, bytes]]:
    def contents(path: str, status: Stat) -> bytes:
        return root.read(path) if status.is_file else b""

    return {
        path: (status.mode, status.owner, status.target, contents(path, status))
        for path, status in root.walk("/")
    }


def test_a_file_comes_back_with_everything_it_had(root: Root, folder: Path) -> None:
    root.write("/f", b"old", mode=0o4750, owner=(5, 6), mtime_ns=1_500_000_000_123_456_789)
    os.setxattr(folder / "f", "user.label", b"v")
    image = capture(root, "/f")
    root.write("/f", b"new", mode=0o600, owner=(0, 0))
    restore(root, image)
    status = root.stat("/f")
    assert status is not None
    assert (status.permissions, status.owner, status.mtime_ns) == (0o4750, (5, 6), 1_500_000_000_123_456_789)
    assert root.read("/f") == b"old"
    assert root.xattrs("/f")["user.label"] == b"v"


def test_absence_takes_the_new_folders_away_again(root: Root) -> None:
    root.mkdir("/etc")
    image = capture(root, "/etc/app/conf.d/f")
    assert image.made == ("/etc/app", "/etc/app/conf.d")
    root.write("/etc/app/conf.d/f", b"x")
    restore(root, image)
    assert root.list("/etc") == []


def test_a_folder_that_somebody_else_uses_by_now_stays(root: Root) -> None:
    image = capture(root, "/etc/app/f")
    root.write("/etc/app/f", b"x")
    root.write("/etc/app/theirs", b"y")
    restore(root, image)
    assert root.list("/etc/app") == ["theirs"]


def test_a_link_comes_back_as_a_link(root: Root) -> None:
    root.symlink("/etc/localtime", "/usr/share/zoneinfo/UTC", owner=(1, 2))
    image = capture(root, "/etc/localtime")
    root.write("/etc/localtime", b"x")
    restore(root, image)
    status = root.stat("/etc/localtime")
    assert status is not None
    assert (status.target, status.owner) == ("/usr/share/zoneinfo/UTC", (1, 2))


def test_devices_and_pipes_are_refused_and_stay(root: Root, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(FileError, match="neither a file, a link nor a directory") as caught:
        capture(root, "/pipe")
    assert caught.value.path == "/pipe"
    assert root.exists("/pipe")


def test_a_pre_image_survives_being_stored(root: Root) -> None:
    root.write("/f", bytes(range(256)), mode=0o600, owner=(1, 2))
    image = capture(root, "/f")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(image), type=PreImage) == image


Change = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(["/a", "/b", "/d/e/f", "/d/g"]), st.binary(max_size=20)),
    st.tuples(st.just("link"), st.sampled_from(["/a", "/b", "/d/e/f"]), st.just(b"target")),
    st.tuples(st.just("remove"), st.sampled_from(["/a", "/b", "/d/e/f", "/d/g"]), st.just(b"")),
)


def change(root: Root, kind: str, path: str, data: bytes) -> None:
    if kind == "write":
        root.write(path, data, mode=0o600 + len(data) % 64, owner=(len(data), 0))
    elif kind == "link":
        root.symlink(path, data.decode())
    else:
        root.remove(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(Change, max_size=6), st.lists(Change, max_size=6), st.data())
def test_restoring_backwards_gives_the_old_tree_even_when_interrupted(
    root: Root, before: list[tuple[str, str, bytes]], after: list[tuple[str, str, bytes]], data: st.DataObject
) -> None:
    root_clean(root)
    for step in before:
        change(root, *step)
    old = snapshot(root)
    images = []
    for step in after:
        images.append(capture(root, step[1]))
        change(root, *step)
    done = data.draw(st.integers(0, len(images)))
    for image in list(reversed(images))[:done]:
        restore(root, image)
    for image in reversed(images):
        restore(root, image)
    assert snapshot(root) == old


def root_clean(root: Root) -> None:
    for name in root.list("/"):
        root.remove_tree(f"/{name}")
