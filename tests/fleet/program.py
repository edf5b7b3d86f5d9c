"""`mco` as a user runs it: another process, a folder of its own for its state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE = 110.0


class Running:
    """A started `mco`, its output as far as it has come."""

    def __init__(self, folder: Path, *argv: str, environment: Mapping[str, str] = os.environ) -> None:
        self.log = folder / f"{argv[0]}-{len(list(folder.iterdir()))}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mco.cli.main", *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, said: str | Callable[[str], bool], patience: float = PATIENCE) -> None:
        """Waits for a text in the output; there is nothing but the file to look at."""
        holds = said if callable(said) else (lambda output: said in output)
        end = time.monotonic() + patience
        while not holds(self.output):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.05)

    def ended(self, patience: float = PATIENCE) -> int:
        return self.process.wait(patience)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.ended()

    def abandon(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def kubectl(kubeconfig: Path, *argv: str, given: str = "") -> str:
    command = ["kubectl", f"--kubeconfig={kubeconfig}", *argv]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def children_of(pid: int) -> dict[str, int]:
    """The components below a running `mco up`, by command."""
    found: dict[str, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            argv = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid and b"mco.cli.main" in argv:
            found[argv[argv.index(b"mco.cli.main") + 1].decode()] = int(folder.name)
    return found


def processes_with(text: str) -> list[str]:
    """Command lines of living processes that name `text`."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and str(os.getpid()) != folder.name:
            lines.append(line)
    return lines
