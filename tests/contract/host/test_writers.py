"""Several writers at once, and what a loss of power leaves of a write."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mco.host.root import Root
from tests.contract.host.conftest import needs_root
from tests.contract.host.powerloss import PowerLoss, Tree, build


def test_a_reader_sees_a_whole_file_while_others_write(root: Root) -> None:
    contents = [bytes([65 + index]) * 50_000 for index in range(3)]
    root.write("/d/f", contents[0])
    failures: list[BaseException] = []

    def write(data: bytes) -> None:
        try:
            for _ in range(40):
                root.write("/d/f", data)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(data,)) for data in contents]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        seen.add(root.read("/d/f"))
    for thread in threads:
        thread.join()
    assert not failures
    assert seen <= set(contents)
    assert root.list("/d") == ["f"]


def test_writers_may_make_the_same_folders(root: Root) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def write(name: str) -> None:
        try:
            for count in range(20):
                barrier.wait()
                root.write(f"/{count}/a/b/{name}", b"")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "wxyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(root.list(f"/{count}/a/b") == ["w", "x", "y", "z"] for count in range(20))


class Losses(list[tuple[str, Tree]]):
    """Every tree that a loss of power may leave, with how it comes about, change by change."""

    def __call__(self, change: int, variant: str, tree: Tree) -> None:
        self.append((f"{change}: {variant}", tree))

    def contents(self, path: str) -> set[bytes | None]:
        return {tree[path].data if path in tree else None for _, tree in self}


class Forgetful(PowerLoss):
    """Notes no syncs of files."""

    def sync(self, fd: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            super().sync(fd)


@needs_root
@pytest.mark.parametrize("existing", [b"old", None])
def test_at_no_point_does_a_loss_of_power_leave_half_a_file(tmp_path: Path, existing: bytes | None) -> None:
    if existing is not None:
        with Root(tmp_path) as root:
            root.write("/etc/motd", existing)
    losses = Losses()
    with Root(tmp_path, effects=PowerLoss(tmp_path, losses)) as root:
        root.write("/etc/motd", b"new", owner=(3, 3))
        assert losses.contents("/etc/motd") == {existing, b"new"}
        losses.clear()
        root.write("/other", b"")
    assert losses.contents("/etc/motd") == {b"new"}


@needs_root
def test_the_model_of_power_loss_notices_a_missing_sync(tmp_path: Path) -> None:
    losses = Losses()
    with Root(tmp_path, effects=Forgetful(tmp_path, losses)) as root:
        root.write("/motd", b"new!")
    assert losses.contents("/motd") == {None, b"", b"ne", b"\0\0\0\0", b"new!"}
    losses.clear()
    power = PowerLoss(tmp_path, losses)
    power.foreign = True
    with Root(tmp_path, effects=power) as root:
        root.write("/issue", b"new!")
        losses.clear()
        root.write("/etc/other", b"")
    assert losses.contents("/issue") == {None, b"new!"}


@needs_root
def test_every_change_passes_the_layer_of_effects(tmp_path: Path) -> None:
    """What stands in the tree afterwards is what was noted, and can be made again."""
    losses = Losses()
    tree = tmp_path / "tree"
    tree.mkdir()
    power = PowerLoss(tree, losses)
    with Root(tree, effects=power) as root:
        root.write("/a/b/f", b"1", mode=0o640, owner=(1, 2))
        root.symlink("/a/l", "b/f", owner=(1, 2))
        root.mkdir("/c/d", 0o700)
        root.copy("/a/b/f", "/c/copy")
        root.remove("/a/l")
        root.symlink("/c/link", "nowhere")
    noted = dict(power.trees())["names kept, contents kept"]
    build(noted, tmp_path / "copy")
    assert _listing(tmp_path / "copy") == _listing(tree)


def _listing(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
        data = path.read_bytes() if path.is_file() else data
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_gid, data)
    return found
