"""A server of a test: a child process with a log, that is up when its condition holds."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 3
"""A kube-apiserver that is asked to stop waits a minute for watches over HTTP/1.1; etcd keeps the data."""


class Child:
    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for it. Raises AssertionError with the end of the log when it does not come true."""
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{self._process.args!s} is not up\n{self.tail()}")
            time.sleep(0.02)

    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def wait(self) -> None:
        """Until it ends by itself."""
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
