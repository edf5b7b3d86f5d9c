"""The embedded server: in a thread of the test process, as a process, or as one of many that are killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from mco.apiserver.server import Running, Settings, running

PROGRAM = "from mco.cli.apiserver import command; command()"


@contextlib.contextmanager
def in_thread(settings: Settings) -> Iterator[Running]:
    """Serves on an event loop of its own."""
    started: list[Running | BaseException] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with running(settings) as server:
            started.append(server)
            ready.set()
            await stop.wait()

    def main() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            try:
                runner.run(serve())
            except BaseException as error:
                started.append(error)
                ready.set()

    thread = threading.Thread(target=main)
    thread.start()
    ready.wait()
    if isinstance(started[0], BaseException):
        thread.join()
        raise started[0]
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


class Process:
    """`mco apiserver` on a data folder; a context manager that leaves no process behind."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self._said = ""
        _kubeconfig(folder).unlink(missing_ok=True)
        self._child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "--data-dir", str(folder), "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self.output()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, once the server has written it."""
        path, deadline = _kubeconfig(self.folder), time.monotonic() + 20
        while not path.exists():
            if self._child.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(self.output())
            time.sleep(0.01)
        return path

    def end(self, number: int = signal.SIGTERM) -> int:
        os.kill(self._child.pid, number)
        return self.wait()

    def wait(self) -> int:
        return self._child.wait(20)

    def output(self) -> str:
        """What it has said in all; waits until it has ended."""
        assert self._child.stdout is not None
        self.wait()
        if not self._child.stdout.closed:
            with self._child.stdout:
                self._said = self._child.stdout.read().decode()
        return self._said


class Nursery:
    """One server after the other on one data folder, each a process of its own that starts in 0.1 s: it is
    forked from one that has loaded the program. A context manager that leaves no process behind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parent = subprocess.Popen(
            [sys.executable, "-c", _FORK, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._orders, self._answers = self._parent.stdin, self._parent.stdout
        self._server = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server:
            self.kill()
        self._orders.close()
        self._answers.close()
        self._parent.wait()

    def start(self) -> bytes:
        """A server; its administrator's kubeconfig."""
        path, deadline = _kubeconfig(self._folder), time.monotonic() + 20
        path.unlink(missing_ok=True)
        self._orders.write(b"\n")
        self._orders.flush()
        self._server = int(self._answers.readline())
        while not path.exists():
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.002)
        return path.read_bytes()

    def kill(self) -> None:
        """SIGKILL for the server; returns when it is gone."""
        os.kill(self._server, signal.SIGKILL)
        self._server = 0
        self._answers.readline()


_FORK = """
import os, sys
from pathlib import Path
from mco.apiserver import main
for _ in sys.stdin:
    child = os.fork()
    if not child:
        main.run(Path(sys.argv[1]), port=0, bind=("127.0.0.1",), names=(), token_file=None)
        os._exit(1)
    print(child, flush=True)
    os.waitpid(child, 0)
    print(flush=True)
"""


def _kubeconfig(folder: Path) -> Path:
    """Written once the server accepts connections."""
    return folder / "kubeconfig"
