"""The machines that one suite runs on: a host, and how to reboot what is behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mco.host.commands import Commands
from mco.host.fake import FakeMachine
from mco.host.machine import Host
from mco.host.root import Root
from mco.lab.instance import Lab, open_lab
from mco.lab.machine import Machine

T = TypeVar("T")


class Subject(Protocol):
    @property
    def host(self) -> Host: ...

    def reboot(self) -> None:
        """Asks the host for it, as the daemon does, and returns when it is up again."""


class FakeSubject:
    def __init__(self, machine: FakeMachine) -> None:
        self.machine = machine
        self.host = machine.host

    def reboot(self) -> None:
        self.host.reboot("the test wants it")


class LabSubject:
    """A real machine, seen from outside: its root through its PID 1, its commands in its namespaces."""

    def __init__(self, loop: LoopThread, machine: Machine) -> None:
        self._loop = loop
        self._machine = machine
        self.host = self._enter()

    def reboot(self) -> None:
        boots = self._machine.boots
        self.host.reboot("the test wants it")
        self.host.close()
        self._loop.wait(self._machine.running(boots=boots + 1))
        self.host = self._enter()

    def _enter(self) -> Host:
        leader = str(self._machine.record().leader())
        namespaces = ("nsenter", "-t", leader, "-m", "-u", "-i", "-n", "-p", "--")
        return Host(Root(f"/proc/{leader}/root"), Commands(namespaces))


class LoopThread:
    """The lab is asynchronous, the host is not: its loop runs beside the tests."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def wait(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class LabOfOne:
    """A lab with one machine, as its image is."""

    def __init__(self, folder: Path) -> None:
        self._loop = LoopThread()
        self._stack = contextlib.AsyncExitStack()
        try:
            lab = self._loop.wait(self._open(folder))
            machine = lab.machine("host-0", None)
            self._loop.wait(self._start(machine))
        except BaseException:
            self.close()
            raise
        self.subject = LabSubject(self._loop, machine)

    async def _open(self, folder: Path) -> Lab:
        return await self._stack.enter_async_context(open_lab(f"host-{os.getpid()}", folder, throw_away=True))

    async def _start(self, machine: Machine) -> None:
        machine.start()
        await machine.running()

    def close(self) -> None:
        self._loop.wait(self._stack.aclose())
        self._loop.close()
