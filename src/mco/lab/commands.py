"""Programs that the lab runs on the host. A failure carries the command in a form that can be replayed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from mco.base.errors import HostError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What programs write into a machine is for its users too, whatever the caller's umask is.
UMASK = 0o022

_PATIENCE_SECONDS = 5.0

P = ParamSpec("P")
T = TypeVar("T")

# Nothing of the caller's environment: a proxy variable would send Ignition's fetch elsewhere, a locale would
# change the messages that are shown.
CLEAN_ENVIRONMENT: Mapping[str, str] = {"PATH": PATH, "LANG": "C.UTF-8"}


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """A program's end. `code` is negative when a signal ended it."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace").strip()

    def check(self) -> Completed:
        if self.code != 0:
            raise failure(self.argv, self.code, self.stderr or self.stdout)
        return self


def run(argv: Sequence[str]) -> bytes:
    """Runs a short command and answers its output. Raises HostError."""
    # A session of its own: Ctrl-C reaches this process alone, which then ends what it has started.
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=CLEAN_ENVIRONMENT,
        check=False,
        start_new_session=True,
        umask=UMASK,
    )
    if done.returncode != 0:
        raise failure(argv, done.returncode, done.stderr or done.stdout)
    return done.stdout


async def complete(argv: Sequence[str], *, stdin: bytes = b"", environment: Mapping[str, str]) -> Completed:
    """Runs a command to its end; if the task is cancelled, the command is killed with what it has started."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,
        umask=UMASK,
    )
    try:
        stdout, stderr = await process.communicate(stdin)
    except asyncio.CancelledError:
        await _kill(process)
        raise
    return Completed(argv=tuple(argv), code=process.returncode or 0, stdout=stdout, stderr=stderr)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """With its process group: a child that has inherited the pipes would keep us waiting for their end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS)


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a blocking call in a thread. When cancelled, it waits for the call's end all the same: whoever
    cleans up next must not meet it at work."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise


def failure(argv: Sequence[str], code: int, output: bytes) -> HostError:
    lines = output.decode(errors="replace").strip().splitlines()
    reason = lines[-1] if lines else f"exit status {code}"
    return HostError(
        f"{os.path.basename(argv[0])} failed: {reason}", hint=f"to repeat it: {shlex.join(argv)}"
    )


def start_time(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 if there is none. With the pid it names a process
    for good."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])
