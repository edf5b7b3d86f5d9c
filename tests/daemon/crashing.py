"""A real daemon process that kills itself (SIGKILL) at one point of the journal.

    python -m tests.daemon.crashing FOLDER NODE KUBECONFIG ACTION POINT

ACTION is the beginning of an action's description. POINT: `before` its first journal entry, `noted` (the
entry is synced), `done` (its effect is there, no second entry), `recorded` (the second entry is synced);
or, for an update that fails later, `undoing` and `undone`: before and after the entry that it was taken
back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from mco.daemon.main import Daemon, Options
from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.records import Line
from tests.daemon.machine import QUICK

_ENTRIES = {"before": "before", "noted": "before", "done": "after", "recorded": "after"}


class Deadly(Effects):
    """The system calls as they are, until the point is reached."""

    def __init__(self, action: str, point: str) -> None:
        self._action = action
        self._early = point in ("before", "done", "undoing")
        self._kind = _ENTRIES.get(point, "undone")
        self._index = -1
        self._armed = False

    def write(self, fd: int, data: bytes) -> None:
        if self._reached(data):
            if self._early:
                _die()
            self._armed = True
        super().write(fd, data)

    def sync(self, fd: int) -> None:
        super().sync(fd)
        if self._armed:
            _die()

    def _reached(self, data: bytes) -> bool:
        if not data.startswith(b'{"sum":'):
            return False
        record = msgspec.json.decode(msgspec.json.decode(data, type=Line).record)
        if record["kind"] == "begin":
            texts = [entry.get("text", "") for entry in record["actions"]]
            self._index = next(i for i, text in enumerate(texts) if text.startswith(self._action))
        return bool(record["kind"] == self._kind and record.get("index") == self._index)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, node: str, kubeconfig: str, action: str, point: str) -> None:
    machine = FakeMachine(
        Path(folder), on_reboot=lambda: os.kill(os.getpid(), signal.SIGTERM), effects=Deadly(action, point)
    )
    options = Options(kubeconfig=Path(kubeconfig), node_name=node, register_node=True, agent=QUICK)
    asyncio.run(Daemon(machine.host, options).run())


if __name__ == "__main__":
    main(*sys.argv[1:])
