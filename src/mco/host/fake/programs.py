"""The programs of a directory-rooted host, as far as the host layer runs any.

Links of enabled units are made by the real `systemctl --root` where there is one. Everything else acts on the
root's files and on the state file. A program that is not here does not exist on such a machine.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from mco.host.commands import Commands, Output
from mco.host.errors import FileError
from mco.host.fake import offline
from mco.host.fake.units import Units
from mco.host.root import Root

_LINK_VERBS = ("enable", "disable", "preset", "mask", "unmask", "is-enabled", "list-unit-files")
_OK = Output(status=0)


class FakePrograms(Commands):
    """`systemctl` is the path of the real one, or empty for our own; `reboot` is called with the reason."""

    def __init__(self, root: Root, units: Units, systemctl: str, reboot: Callable[[str], None]) -> None:
        super().__init__()
        self._root = root
        self._units = units
        self._systemctl_path = systemctl
        self._reboot = reboot

    def _execute(self, argv: Sequence[str], stdin: str | None, timeout: float) -> Output:
        programs = {
            "systemctl": self._systemctl,
            "systemd-run": self._systemd_run,
            "getent": self._getent,
            "uname": self._uname,
        }
        if argv[0] == "chpasswd":
            return self._chpasswd(stdin or "")
        if argv[0] not in programs:
            raise FileNotFoundError(2, "No such file or directory", argv[0])
        return programs[argv[0]](list(argv[1:]))

    def _systemctl(self, argv: list[str]) -> Output:
        verb, names, options = _parsed(argv)
        if verb in _LINK_VERBS:
            return self._links(verb, names)
        if verb in ("start", "stop", "restart", "reload"):
            outputs = [self._units.job(verb, name) for name in names]
            return next((output for output in outputs if not output.ok), _OK)
        if verb == "show":
            wanted = [option.partition("=")[2] for option in options if option.startswith("--property=")]
            found = self._units.properties(names[0])
            keys = wanted[0].split(",") if wanted else list(found)
            return Output(status=0, stdout="".join(f"{key}={found.get(key, '')}\n" for key in keys))
        if verb == "list-units":
            lines = (f"{name} loaded failed failed {name}\n" for name in self._units.failed())
            return Output(status=0, stdout="".join(lines))
        if verb == "reset-failed":
            return self._units.reset_failed(names[0])
        if verb == "reboot":
            self._reboot("systemctl reboot")
            return _OK
        if verb == "daemon-reload":
            return _OK
        return Output(status=1, stderr=f"Unknown command verb {verb}.\n")

    def _links(self, verb: str, names: list[str]) -> Output:
        if not self._systemctl_path:
            return offline.systemctl(self._root, verb, names)
        done = subprocess.run(
            [self._systemctl_path, f"--root={Path(self._root.path).resolve()}", "--no-legend", "--no-pager",
             "--plain", verb, "--", *names],
            capture_output=True,
            text=True,
            check=False,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        return Output(status=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def _systemd_run(self, argv: list[str]) -> Output:
        if "systemctl reboot" not in argv:
            return Output(status=1, stderr="Failed to start transient service unit.\n")
        description = argv[argv.index("--description") + 1] if "--description" in argv else ""
        self._reboot(description)
        return _OK

    def _getent(self, argv: list[str]) -> Output:
        database, name = argv
        lines = self._root.read_text(f"/etc/{database}").splitlines()
        found = [line for line in lines if line.startswith(f"{name}:")]
        return Output(status=0 if found else 2, stdout="".join(f"{line}\n" for line in found[:1]))

    def _chpasswd(self, stdin: str) -> Output:
        wanted = dict(line.split(":", 1) for line in stdin.splitlines())
        lines = []
        for line in self._root.read_text("/etc/shadow").splitlines():
            fields = line.split(":")
            fields[1] = wanted.pop(fields[0], fields[1])
            lines.append(":".join(fields))
        if wanted:
            name = next(iter(wanted))
            return Output(status=1, stderr=f"chpasswd: (line 1, user {name}) password not changed\n")
        try:
            self._root.write("/etc/shadow", "".join(f"{line}\n" for line in lines).encode(), mode=0o640)
        except FileError as error:
            return Output(status=1, stderr=f"chpasswd: {error}\n")
        return _OK

    def _uname(self, argv: list[str]) -> Output:
        text = self._root.read_text("/etc/hostname") if argv == ["-n"] else "6.1.0-fake\n"
        return Output(status=0, stdout=text)


def real_systemctl() -> str:
    """Path of the host's own systemctl, or empty."""
    return shutil.which("systemctl") or ""


def _parsed(argv: list[str]) -> tuple[str, list[str], list[str]]:
    """Verb, names, options."""
    if "--" in argv:
        end = argv.index("--")
        head, names = argv[:end], argv[end + 1 :]
    else:
        head, names = argv, []
    words = [word for word in head if not word.startswith("-")]
    return words[0], [*words[1:], *names], [word for word in head if word.startswith("-")]
