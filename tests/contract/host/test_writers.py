"""Several writers at once, and what a loss of power leaves of a write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mco.host.root import Root
from tests.contract.host.conftest import needs_root
from tests.contract.host.recorder import Recorder, Step, after_power_loss


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


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@needs_root
@pytest.mark.parametrize("existing", [True, False])
def test_at_no_point_does_a_loss_of_power_leave_half_a_file(
    tmp_path: Path, recorder: Recorder, existing: bool
) -> None:
    path = str(tmp_path.resolve() / "etc" / "motd")
    with Root(tmp_path, effects=recorder) as root:
        if existing:
            root.write("/etc/motd", b"old")
        recorder.steps.clear()
        root.write("/etc/motd", b"new", owner=(3, 3))
    for end in range(len(recorder.steps) + 1):
        assert after_power_loss(recorder.steps[:end], path) <= {"old", "new"}
    assert after_power_loss(recorder.steps, path) == {"new"}


@needs_root
def test_the_model_of_power_loss_notices_a_missing_sync(tmp_path: Path, recorder: Recorder) -> None:
    path = str(tmp_path.resolve() / "motd")
    with Root(tmp_path, effects=recorder) as root:
        root.write("/motd", b"new")
    unsynced = [step for step in recorder.steps if step.kind != "sync"]
    assert after_power_loss(unsynced, path) == {"torn"}
    forgotten = [step for step in recorder.steps if step.kind != "sync folder"]
    assert after_power_loss(forgotten, path) == {"old", "new"}


@needs_root
def test_every_change_passes_the_layer_of_effects(tmp_path: Path, recorder: Recorder) -> None:
    """What stands in the tree afterwards is what was recorded."""
    with Root(tmp_path, effects=recorder) as root:
        root.write("/a/b/f", b"1")
        root.symlink("/a/l", "b/f")
        root.mkdir("/c/d")
        root.copy("/a/b/f", "/c/copy")
        root.remove("/a/l")
    names: set[str] = set()
    for step in recorder.steps:
        names = _apply(names, step)
    base = tmp_path.resolve()
    assert names == {str(path) for path in base.rglob("*")}


def _apply(names: set[str], step: Step) -> set[str]:
    match step.kind:
        case "create" | "symlink" | "mkdir":
            return names | {step.path}
        case "rename":
            return (names - {step.path}) | {step.target}
        case "remove":
            return names - {step.path}
        case _:
            return names
