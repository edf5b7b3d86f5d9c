"""First boot with the real Ignition engine: it fetches the machine's config from the config server and
writes it to the disk before systemd starts there, as it does from the initial RAM disk of a real machine.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mco.base.errors import HostError
from mco.lab import launch
from mco.lab.commands import CLEAN_ENVIRONMENT, UMASK
from mco.lab.disk import Disk

ENGINES = (
    Path("/usr/lib/dracut/modules.d/30ignition/ignition"),  # Debian, Fedora
    Path("/usr/libexec/ignition"),
    Path("/usr/bin/ignition"),
)

# The newest version that Debian 12's engine reads; the config server negotiates by it.
POINTER_VERSION = "3.3.0"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a machine's config comes from. `ca` is the PEM of the authority that the server is checked with;
    `headers` usually hold the machine's own `Authorization`."""

    url: str
    ca: bytes = b""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)

    def pointer(self) -> bytes:
        """The Ignition config that a cloud would hand over as user data: nothing but where to look."""
        headers = [{"name": name, "value": value} for name, value in self.headers.items()]
        merge = {"source": self.url, "httpHeaders": headers} if headers else {"source": self.url}
        ignition: dict[str, object] = {"version": POINTER_VERSION, "config": {"merge": [merge]}}
        if self.ca:
            source = "data:text/plain;charset=utf-8;base64," + base64.b64encode(self.ca).decode()
            ignition["security"] = {"tls": {"certificateAuthorities": [{"source": source}]}}
        return msgspec.json.encode({"ignition": ignition})


def engine() -> Path | None:
    return next((path for path in ENGINES if os.access(path, os.X_OK)), None)


class FirstBoot:
    """Runs the engine's stages on one machine's disk, which is nowhere mounted meanwhile."""

    def __init__(self, disk: Disk, report: Callable[[str], None]) -> None:
        self._disk = disk
        self._report = report
        self._folder = disk.folder / "ignition"

    async def fetch(self, source: Source) -> None:
        """Gets the config. The engine itself waits for a server that is not there; what makes it give up (a
        certificate, a refusal, a config that it cannot read) raises HostError. Writes nothing to the disk."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        # A token is in it.
        config = self._folder / "config.ign"
        config.touch(mode=0o600)
        config.write_bytes(source.pointer())
        for name in ("state.json", "cache.json"):
            (self._folder / name).unlink(missing_ok=True)
        await self._stage("fetch")

    async def apply(self) -> None:
        """Writes the fetched config to the disk. Raises HostError; the disk is then half-written and has to
        be cloned anew, because the engine refuses to write what exists."""
        await self._stage("files")
        for path in self._folder.iterdir():
            path.unlink()
        self._folder.rmdir()

    async def _stage(self, stage: str) -> None:
        program = engine()
        if program is None:
            raise HostError("the Ignition engine is not installed", hint="apt-get install ignition")
        argv = [
            str(program),
            "--platform=file",
            f"--stage={stage}",
            f"--root={launch.ROOT}",
            f"--config-cache={self._folder / 'cache.json'}",
            f"--state-file={self._folder / 'state.json'}",
            "--log-to-stdout",
        ]
        code, error = await self._run(launch.on_disk(self._disk, argv))
        if code != 0:
            raise HostError(
                f"Ignition failed in stage {stage}: {error or f'exit status {code}'}",
                path=str(self._disk.ignition_log),
            )

    async def _run(self, argv: list[str]) -> tuple[int, str]:
        # The engine's platform `file` looks for its config where this variable says.
        environment = {**CLEAN_ENVIRONMENT, "IGNITION_CONFIG_FILE": str(self._folder / "config.ign")}
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            umask=UMASK,
        )
        assert process.stdout is not None
        critical = ""
        try:
            with self._disk.ignition_log.open("ab") as log:
                async for raw in process.stdout:
                    log.write(raw)
                    log.flush()
                    line = raw.decode(errors="replace").strip()
                    critical = _critical(line) or critical
                    self._report_waiting(line)
            return await process.wait(), critical
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    def _report_waiting(self, line: str) -> None:
        if "GET error" in line or "GET result: 5" in line:
            self._report(f"waiting for the config server: {line.partition(': ')[2]}")


def _critical(line: str) -> str:
    """The reason that the engine gives up for, out of a log line of its."""
    for mark in ("CRITICAL : ", "failed to fetch config: ", "failed to acquire config: "):
        if mark in line:
            return line.partition(mark)[2]
    return ""
