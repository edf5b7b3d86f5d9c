"""A real daemon process that kills itself at one point of the journal.

    python -m tests.daemon.crashing MACHINE NODE KUBECONFIG ENTRY POINT [SIGNAL]

MACHINE is the folder of a directory-rooted host, or the process id of a real machine's PID 1. ENTRY is the
number of a journal entry; none has number -1. POINT: `before` the entry's first record, `noted` (that record
is synced), `done` (the effect is there, no second record), `recorded` (the second record is synced); for an
update that goes back, `undoing` and `undone`: before and after the record that it was taken back. SIGNAL is
KILL, or TERM, with which the daemon goes on until it has stopped by itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from mco.daemon.main import Daemon, Options
from mco.host.commands import Commands
from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.machine import Host
from mco.host.records import Line
from mco.host.root import Root
from mco.runtime.supervise import supervise
from tests.daemon.machine import QUICK

POINTS = ("before", "noted", "done", "recorded")
BACKWARDS = ("undoing", "undone")

_RECORDS = {"before": "before", "noted": "before", "done": "after", "recorded": "after"}
_NEVER = 30.0


class Deadly(Effects):
    """The system calls as they are, until the point is reached."""

    def __init__(self, entry: int, point: str, number: signal.Signals = signal.SIGKILL) -> None:
        self._entry = entry
        self._early = point in ("before", "done", "undoing")
        self._kind = _RECORDS.get(point, "undone")
        self._number = number
        self._armed = False

    def write(self, fd: int, data: bytes) -> None:
        if self._reached(data):
            self._armed = True
            if self._early:
                self._die()
        super().write(fd, data)

    def sync(self, fd: int) -> None:
        super().sync(fd)
        if self._armed:
            self._die()

    def _reached(self, data: bytes) -> bool:
        if not data.startswith(b'{"sum":'):
            return False
        record = msgspec.json.decode(msgspec.json.decode(data, type=Line).record)
        return bool(record["kind"] == self._kind and record.get("index") == self._entry)

    def _die(self) -> None:
        self._armed = False
        os.kill(os.getpid(), self._number)


def host_of(machine: str, effects: Effects) -> Host:
    if machine.isdecimal():
        namespaces = ("nsenter", "-t", machine, "-m", "-u", "-i", "-n", "-p", "--")
        return Host(Root(f"/proc/{machine}/root", effects=effects), Commands(namespaces))
    on_reboot = lambda: os.kill(os.getpid(), signal.SIGTERM)  # noqa: E731
    return FakeMachine(Path(machine), on_reboot=on_reboot, effects=effects).host


def main(machine: str, node: str, kubeconfig: str, entry: str, point: str, name: str = "KILL") -> None:
    host = host_of(machine, Deadly(int(entry), point, signal.Signals[f"SIG{name}"]))
    options = Options(kubeconfig=Path(kubeconfig), node_name=node, register_node=True, agent=QUICK)
    asyncio.run(supervise({"daemon": Daemon(host, options).run}, grace=_NEVER))


if __name__ == "__main__":
    main(*sys.argv[1:])
