"""Words to systemd about this service: ready, what it does, alive (sd_notify(3), without a library)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from mco.runtime.clock import Clock


class Notifier:
    """Silent where systemd does not listen."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        watchdog = environ.get("WATCHDOG_USEC", "")
        pid = environ.get("WATCHDOG_PID", "")
        ours = not pid or pid == str(os.getpid())
        self._watchdog = int(watchdog) / 1e6 if watchdog.isdigit() and ours else 0.0
        self._status = ""

    def ready(self) -> None:
        self._send("READY=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """One line that `systemctl status` shows."""
        line = " ".join(text.split())
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    async def keep_alive(self, clock: Clock) -> None:
        """Tells the watchdog that the event loop turns, twice per interval; returns where there is none."""
        while self._watchdog:
            self._send("WATCHDOG=1")
            await clock.sleep(self._watchdog / 2)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            try:
                channel.connect(address)
                channel.sendall(message.encode())
            except OSError:
                # A service manager that went away is no reason to stop.
                return
