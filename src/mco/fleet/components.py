"""The components of an instance as child processes: started, watched, started again when one ends.

Each is this same program with another command, so that killing one is a real test of the others
(design.md 10, processes). A child dies with its parent even when that is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec

from mco.runtime.logging import Logger

_log = Logger("mco.fleet")
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
_STABLE_SECONDS = 30.0
_STOP_SECONDS = 10.0


class Component(msgspec.Struct, frozen=True):
    """`argv` is its command line, after `mco` where it is this program; output goes to `log`. `patience` is
    how many seconds it has for its end after a SIGTERM."""

    name: str
    argv: tuple[str, ...]
    log: Path
    ours: bool = True
    patience: float = _STOP_SECONDS

    def command(self) -> list[str]:
        """Another's program may hang when what it needs ends before it, as all do when their parent is
        killed."""
        dies = ["setpriv", "--pdeathsig", "TERM" if self.ours else "KILL"]
        return [*dies, *(program() if self.ours else ()), *self.argv]


def program() -> list[str]:
    """How to run this program again, whichever way it was started."""
    return [sys.executable, "-m", "mco.cli.main"]


class Supervisor:
    """`run` keeps one component alive until it is cancelled, then stops it with SIGTERM. `failures` counts
    the lives in a row that ended soon, `trouble` says how the last one did."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.failures = 0
        self.trouble = ""

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                self.trouble = describe_exit(await self.once())
            except OSError as error:
                # No file for its output, or no process to be had: a full disk is not the end of everything.
                self.trouble = str(error)
            self.failures = 1 if loop.time() - began > _STABLE_SECONDS else self.failures + 1
            pause = _PAUSES[min(self.failures, len(_PAUSES)) - 1]
            _log.warning(
                "component ended", component=self.component.name, trouble=self.trouble, again_in=pause
            )
            await asyncio.sleep(pause)

    async def once(self) -> int:
        """One life of the process; its exit code."""
        with self.component.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self.component.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A terminal's Ctrl-C is the parent's business: it stops the children in order.
                start_new_session=True,
            )
        try:
            return await process.wait()
        finally:
            await asyncio.shield(_stop(process, self.component.patience))


@contextlib.asynccontextmanager
async def running(components: Iterable[Component]) -> AsyncIterator[list[Supervisor]]:
    """Keeps `components` alive until the block ends."""
    supervisors = [Supervisor(component) for component in components]
    tasks = [asyncio.create_task(supervisor.run()) for supervisor in supervisors]
    try:
        yield supervisors
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stop(process: asyncio.subprocess.Process, patience: float) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), patience)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def describe_exit(code: int) -> str:
    """A process's end in words; a negative code is the signal that ended it."""
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def last_lines(path: Path, count: int = 5) -> Sequence[str]:
    """The end of a component's log, for a message about its failure."""
    try:
        text = path.read_bytes()[-8192:].decode(errors="replace")
    except OSError:
        return ()
    return text.splitlines()[-count:]
