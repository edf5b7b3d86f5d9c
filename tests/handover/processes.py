"""Real processes of a component: started, listened to, stopped, frozen and killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from tests.servers.assets import ROOT

PATIENCE = 60.0
"""Seconds for anything that takes a moment on a quiet machine."""
WAITS, LEADS = "waiting for the lease", "leading"

COMPONENT = ("tests.handover.component",)
OPERATOR = ("mco.cli.main", "operator")
CONTROLLER = ("mco.cli.main", "controller", "--settle=0.1")


class Running:
    """`lines` are what it has logged, with the time at which they were read; `last_words` what it has told a
    person."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())
        self.lines: list[tuple[float, dict[str, Any]]] = []
        self.last_words = ""

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            try:
                self.lines.append((time.monotonic(), json.loads(line)))
            except json.JSONDecodeError:
                self.last_words += line.decode()
            async with self._news:
                self._news.notify_all()
        await self._process.wait()
        async with self._news:
            self._news.notify_all()

    @property
    def runs(self) -> bool:
        return self._process.returncode is None

    async def said(self, message: str, times: int = 1, *, patience: float = PATIENCE) -> float:
        """When it said so for the n-th time. Raises AssertionError when it ends without, or takes too
        long."""

        def found() -> list[float]:
            return [when for when, line in self.lines if line["message"] == message]

        async with asyncio.timeout(patience), self._news:
            await self._news.wait_for(lambda: len(found()) >= times or not self.runs)
        assert len(found()) >= times, f"ended with {self._process.returncode}: {self.lines[-10:]}"
        return found()[times - 1]

    def has_said(self, message: str) -> bool:
        return any(line["message"] == message for _, line in self.lines)

    def handles(self, number: signal.Signals) -> bool:
        """Whether it has a handler for that signal."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (number - 1) & 1)

    def terminate(self) -> float:
        """SIGTERM; when."""
        return self._signal(signal.SIGTERM)

    def kill(self) -> float:
        return self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> float:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        return time.monotonic()

    async def ended(self) -> int:
        """Its exit code, negative for a signal."""
        async with asyncio.timeout(PATIENCE):
            await self._reading
        assert self._process.returncode is not None
        return self._process.returncode

    async def end(self) -> None:
        self.kill()
        await self._process.wait()
        await self._reading


class Starter:
    """`start(OPERATOR, kubeconfig, *arguments)`: whatever was started ends with the test."""

    def __init__(self, durations: Mapping[str, float]) -> None:
        self._durations = [f"--leader-elect-{name}={seconds:g}" for name, seconds in durations.items()]
        self._running: list[Running] = []

    async def start(
        self,
        program: tuple[str, ...],
        kubeconfig: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
    ) -> Running:
        module, *rest = program
        command = [sys.executable, "-m", module, *rest, f"--kubeconfig={kubeconfig}", *self._durations]
        process = await asyncio.create_subprocess_exec(
            *command,
            *arguments,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            cwd=ROOT,
            env=os.environ | (environment or {}),
        )
        self._running.append(Running(process))
        return self._running[-1]

    async def end(self) -> None:
        for running in self._running:
            await running.end()


def durations(lease: float, renew: float, retry: float) -> dict[str, float]:
    return {"lease-duration": lease, "renew-deadline": renew, "retry-period": retry}


@contextlib.asynccontextmanager
async def processes(durations: Mapping[str, float]) -> AsyncIterator[Starter]:
    starter = Starter(durations)
    try:
        yield starter
    finally:
        await starter.end()
