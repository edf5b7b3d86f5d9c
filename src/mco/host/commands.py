"""The one place that starts processes.

Every command is an argument list, has a time limit and captured output; a failure names the exact command
line, ready to be pasted into a shell, and what it wrote to stderr (spec/daemon.md 14.2). When the daemon runs
in a container, commands run in the namespaces of the machine's PID 1 and with its programs.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from mco.host.errors import CommandError

NAMESPACES_OF_PID_1 = ("nsenter", "-t", "1", "-m", "-u", "-i", "-n", "-p", "--")
TIMEOUT_SECONDS = 90.0
_STDERR_LIMIT = 2000


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is the exit status, -N when signal N ended it."""

    status: int
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0


class Commands:
    """Runs programs of the machine. `prefix` comes before every argument list."""

    def __init__(self, prefix: Sequence[str] = ()) -> None:
        self.prefix = tuple(prefix)

    def run(self, *argv: str, stdin: str | None = None, timeout: float = TIMEOUT_SECONDS) -> str:
        """Stdout of a command that has to succeed. Raises CommandError (a HostError)."""
        output = self.attempt(*argv, stdin=stdin, timeout=timeout)
        if not output.ok:
            raise self.failure(argv, output)
        return output.stdout

    def attempt(self, *argv: str, stdin: str | None = None, timeout: float = TIMEOUT_SECONDS) -> Output:
        """For commands whose exit status is an answer. Raises CommandError only when the program cannot be
        started or runs out of time (`timeout` seconds)."""
        full = (*self.prefix, *argv)
        try:
            return self._execute(full, stdin, timeout)
        except subprocess.TimeoutExpired as error:
            raise CommandError(
                f"running {shlex.join(full)} failed: no end after {timeout:g} seconds",
                argv=full,
                status=None,
                stderr=trimmed(_text(error.stderr)),
                hint="see what it waits for; it was killed and can be tried again",
            ) from error
        except OSError as error:
            raise CommandError(
                f"running {shlex.join(full)} failed: {error.strerror}",
                argv=full,
                status=None,
                hint=f"install the program {full[0]}" if isinstance(error, FileNotFoundError) else "",
            ) from error

    def failure(self, argv: Sequence[str], output: Output) -> CommandError:
        """The error of a command that `attempt` ran, for callers that accept some exit statuses only."""
        full = (*self.prefix, *argv)
        how = (
            f"signal {signal.Signals(-output.status).name}"
            if output.status < 0
            else f"exit status {output.status}"
        )
        stderr = trimmed(output.stderr)
        message = f"running {shlex.join(full)} failed: {how}" + (f": {stderr}" if stderr else "")
        return CommandError(message, argv=full, status=output.status, stderr=stderr)

    def _execute(self, argv: Sequence[str], stdin: str | None, timeout: float) -> Output:
        with subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate((stdin or "").encode(), timeout)
            except BaseException:
                # The whole session: nsenter and shells have children that would go on.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        return Output(status=process.returncode, stdout=_text(stdout), stderr=_text(stderr))


def trimmed(stderr: str) -> str:
    """The end of what a program complained, in one line: the last words are the reason."""
    text = "; ".join(line.strip() for line in stderr.splitlines() if line.strip())
    return text if len(text) <= _STDERR_LIMIT else "..." + text[-_STDERR_LIMIT:]


def _environment() -> Mapping[str, str]:
    """Output that can be parsed: no translation, no colours, no pager."""
    return {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat"}


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogateescape")
