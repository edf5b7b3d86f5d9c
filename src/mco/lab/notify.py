"""The socket on which nspawn says that a machine's systemd has started, and is ready (sd_notify(3)).

In the abstract name space: no file stays behind. Anybody on the host could send there, so only root is
listened to.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable

_CREDENTIALS = struct.Struct("@iII")  # pid, uid, gid


class NotifySocket:
    """Calls `handle` with the fields of each message while it is open."""

    def __init__(self, handle: Callable[[dict[str, str]], None]) -> None:
        self._handle = handle
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind("")  # the kernel picks a free abstract name
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._read)

    @property
    def address(self) -> str:
        """For the variable NOTIFY_SOCKET."""
        name: bytes = self._socket.getsockname()
        return "@" + name[1:].decode()

    def close(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                message, ancillary, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
                if any(_CREDENTIALS.unpack(data)[1] == 0 for _, _, data in ancillary):
                    lines = message.decode(errors="replace").splitlines()
                    self._handle(dict(line.split("=", 1) for line in lines if "=" in line))
