"""A layer between the host and the file system that notes every change, and what a loss of power leaves.

Contents that were not synced when the power went may be there, gone or torn, whatever name they have by then;
a name that was not synced may be the old or the new one.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec

from mco.host.effects import Effects

Kind = Literal[
    "create", "write", "chmod", "chown", "sync", "sync folder", "rename", "symlink", "mkdir", "remove"
]


class Step(msgspec.Struct, frozen=True):
    """`path` is where the file was when the change happened, `target` where a rename brought it."""

    kind: Kind
    path: str
    target: str = ""


class Recorder(Effects):
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def create(self, folder: int, name: str, mode: int) -> int:
        self._note("create", folder, name)
        return super().create(folder, name, mode)

    def write(self, fd: int, data: bytes) -> None:
        self.steps.append(Step("write", _path(fd)))
        super().write(fd, data)

    def chmod(self, fd: int, mode: int) -> None:
        self.steps.append(Step("chmod", _path(fd)))
        super().chmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        self.steps.append(Step("chown", _path(fd)))
        super().chown(fd, uid, gid)

    def sync(self, fd: int) -> None:
        path = _path(fd)
        self.steps.append(Step("sync folder" if os.path.isdir(path) else "sync", path))
        super().sync(fd)

    def rename(self, folder: int, old: str, new: str) -> None:
        self.steps.append(Step("rename", f"{_path(folder)}/{old}", f"{_path(folder)}/{new}"))
        super().rename(folder, old, new)

    def symlink(self, folder: int, name: str, target: str) -> None:
        self._note("symlink", folder, name)
        super().symlink(folder, name, target)

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        self._note("mkdir", folder, name)
        super().mkdir(folder, name, mode)

    def unlink(self, folder: int, name: str) -> None:
        self._note("remove", folder, name)
        super().unlink(folder, name)

    def rmdir(self, folder: int, name: str) -> None:
        self._note("remove", folder, name)
        super().rmdir(folder, name)

    def _note(self, kind: Kind, folder: int, name: str) -> None:
        self.steps.append(Step(kind, f"{_path(folder)}/{name}"))


def _path(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def after_power_loss(steps: list[Step], path: str) -> set[str]:
    """What may stand at `path` when the power goes after these steps: `old`, `new` (whole), `torn`."""
    synced: dict[str, bool] = {}
    possible = {"old"}
    pending: set[str] = set()
    for step in steps:
        match step.kind:
            case "create" | "write" | "chmod" | "chown":
                synced[step.path] = False
            case "sync":
                synced[step.path] = True
            case "rename" if step.target == path:
                pending = {"new" if synced.get(step.path) else "torn"}
            case "sync folder" if step.path == os.path.dirname(path) and pending:
                possible, pending = pending, set()
    return possible | pending
