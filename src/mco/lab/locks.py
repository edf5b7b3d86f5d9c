"""Locks between processes, released by the kernel when the holder dies, however it dies.

They are open file description locks: unlike `flock` they can be looked at without being taken, so that asking
whether an instance is alive never makes its start fail. The descriptor is close-on-exec: nothing that the
holder starts keeps the lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from mco.base.errors import Conflict

_LOOK_AGAIN_SECONDS = 0.1

# struct flock on 64-bit Linux: type, whence, start, length, pid. Length 0 is the whole file.
_FLOCK = struct.Struct("@hhqqi4x")
_WHOLE_FILE = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class Lock:
    """An exclusive lock on `path`. `purpose` is written into it for those who find it taken. `removes`
    deletes the file on release: for locks in folders that must not stay behind. Raises Conflict if it is
    taken and `blocking` is false."""

    def __init__(
        self, path: Path, *, blocking: bool = True, removes: bool = False, purpose: str = ""
    ) -> None:
        self.path = path
        self._removes = removes
        self._fd = self._acquire(blocking)
        os.ftruncate(self._fd, 0)
        os.write(self._fd, purpose.encode())

    def _acquire(self, blocking: bool) -> int:
        while True:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue  # the folder was removed in between
            try:
                fcntl.fcntl(fd, fcntl.F_OFD_SETLKW if blocking else fcntl.F_OFD_SETLK, _WHOLE_FILE)
            except (BlockingIOError, PermissionError):
                os.close(fd)
                raise Conflict("another process holds the lock", path=str(self.path)) from None
            if self._is_current(fd):
                return fd
            os.close(fd)  # the holder before us removed the file

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._fd < 0:
            return
        if self._removes and self._is_current(self._fd):
            os.unlink(self.path)
        os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


async def wait_for(path: Path, *, removes: bool = False, purpose: str = "") -> Lock:
    """The lock as soon as it is free; can be cancelled meanwhile."""
    while True:
        try:
            return Lock(path, blocking=False, removes=removes, purpose=purpose)
        except Conflict:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock on `path`. Takes nothing."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _WHOLE_FILE)
    finally:
        os.close(fd)
    return int(_FLOCK.unpack(answer)[0]) != fcntl.F_UNLCK


def purpose(path: Path) -> str:
    """What the holder of a lock said it takes it for."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
