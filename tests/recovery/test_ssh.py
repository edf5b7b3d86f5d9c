"""Whatever is at the place of a user's SSH keys comes back when an update is undone."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mco.host.fake import FakeMachine
from mco.plan.node import steps
from tests.daemon.everykind import NEW_NAME, OLD_NAME, tree
from tests.recovery.course import Course, Stopped
from tests.recovery.driver import Recovery

SSH = "/home/core/.ssh"
KEYS = f"{SSH}/authorized_keys.d/ignition"


def _undone(machine: FakeMachine) -> None:
    def look(step: steps.AnyStep) -> None:
        if isinstance(step, steps.Reboot):
            raise Stopped

    with pytest.raises(Stopped):
        Recovery(machine, NEW_NAME, before_step=look).run()
    assert machine.root.read_text(KEYS) == "ssh-ed25519 B\nssh-ed25519 C\n"
    assert isinstance(Recovery(machine, OLD_NAME).run(), steps.AskForUncordon)


def test_a_folder_of_somebody_else(course: Course, tmp_path: Path) -> None:
    """The owner is put right, and wrong again."""
    machine = course.copy("begun", tmp_path / "machine")
    machine.root.set_owner_and_mode(SSH, 0o755, (65534, 65534))
    machine.root.write(f"{SSH}/config", b"Host *\n", mode=0o600, owner=(65534, 65534))
    before = tree(machine.root)
    _undone(machine)
    assert tree(machine.root) == before
    machine.close()


def test_a_folder_below_of_somebody_else(course: Course, tmp_path: Path) -> None:
    machine = course.copy("begun", tmp_path / "machine")
    machine.root.set_owner_and_mode(f"{SSH}/authorized_keys.d", 0o700, (0, 0))
    before = tree(machine.root)
    _undone(machine)
    assert tree(machine.root) == before
    machine.close()


def test_a_socket_beside_the_keys_is_no_obstacle(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = course.copy("begun", tmp_path / "machine")
    monkeypatch.chdir(f"{machine.root.path}{SSH}")  # the address of a socket has room for 108 bytes
    with socket.socket(socket.AF_UNIX) as control:
        control.bind("control")
    _undone(machine)
    assert machine.root.exists(f"{SSH}/control")
    machine.close()
