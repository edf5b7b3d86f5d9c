"""Two daemons on one machine: the second one refuses to start."""

from __future__ import annotations

import fcntl
import os
from types import TracebackType

from mco.api import names
from mco.base.errors import Conflict
from mco.host.errors import system_errors
from mco.host.root import Root

LOCK_FILE = f"{names.STATE_FOLDER}/lock"


class MachineLock:
    """Held from `acquire` to `release` or the end of the process, however it ends. Programs that the holder
    starts do not inherit it. The file stays: removing it would let two hold locks on different files."""

    def __init__(self, root: Root, path: str = LOCK_FILE) -> None:
        self._root = root
        self.path = path
        self._fd = -1

    def acquire(self) -> None:
        """Raises Conflict at once when another process, or another lock of this one, holds it."""
        fd = self._root.append(self.path)
        try:
            self._lock(fd)
            with system_errors("write", self.path):
                self._root.effects.truncate(fd, 0)
                self._root.effects.write(fd, f"{os.getpid()}\n".encode())
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> MachineLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _lock(self, fd: int) -> None:
        with system_errors("lock", self.path):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise Conflict(
                    f"another daemon runs on this machine (process {holder})",
                    path=self.path,
                    hint="stop it first, or let it do the work",
                ) from None
