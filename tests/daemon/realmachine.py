"""A real machine whose daemon is a process outside of it, as in a privileged container: its root through its
PID 1, its commands in its namespaces. Killing the machine then need not kill the daemon, and the reverse."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.daemon.provision import provision
from mco.host.effects import Effects
from mco.host.machine import Host
from mco.lab.machine import Machine
from mco.plan.node.target import target
from tests.daemon import everykind
from tests.daemon.builders import typed
from tests.daemon.cluster import Cluster
from tests.daemon.crashing import host_of

REPOSITORY = Path(__file__).parents[2]
_PATIENCE = 100.0
_FOLDERS = ("/etc", "/home", "/boot")
_VOLATILE = ("/etc/shadow", "/etc/.pwd.lock", "/etc/.updated", "/etc/passwd-", "/etc/machine-id")
_ENTRIES = "/boot/loader/entries"


class RealMachine:
    """`machine` runs. `reboots` counts its boots but the first and those after a crash."""

    def __init__(self, machine: Machine, cluster: Cluster) -> None:
        self.cluster = cluster
        self.crashes = 0
        self._machine = machine

    @property
    def name(self) -> str:
        return self._machine.name

    @property
    def reboots(self) -> int:
        return self._machine.boots - 1 - self.crashes

    def host(self) -> Host:
        """As long as this boot lasts."""
        return host_of(self._leader, Effects())

    @property
    def _leader(self) -> str:
        return str(self._machine.record().leader())

    async def serve(self, config: dict[str, Any]) -> None:
        """What a first boot with this config leaves, and what the image brings."""
        host = self.host()
        everykind.furnish(host.root)
        name = config["metadata"]["name"]
        initial = {
            names.CURRENT_CONFIG: name,
            names.DESIRED_CONFIG: name,
            names.STATE: names.STATE_DONE,
        }
        host.root.write(names.NODE_ANNOTATIONS_FILE, msgspec.json.encode(initial))
        host.systemd.daemon_reload()
        provision(host, target(typed(config)).config)
        host.kernel.set(config["spec"]["kernelArguments"])
        host.reboot("the first boot is complete")
        host.close()
        await self._machine.running(boots=self._machine.boots + 1)

    async def done(self, config: dict[str, Any]) -> None:
        """Runs the daemon, again after each reboot, until the node is Done with a config."""
        waiting = asyncio.create_task(self.cluster.done(self.name, config))
        try:
            while not waiting.done():
                await self._boot_of_daemon(waiting)
            waiting.result()
        finally:
            waiting.cancel()

    async def _boot_of_daemon(self, waiting: asyncio.Task[None]) -> None:
        boots = self._machine.boots
        await self._machine.running(boots=boots, timeout=_PATIENCE)
        daemon = await self._daemon(-1, "never")
        rebooted = asyncio.create_task(self._machine.running(boots=boots + 1, timeout=_PATIENCE))
        try:
            await asyncio.wait([waiting, rebooted], return_when=asyncio.FIRST_COMPLETED)
        finally:
            daemon.kill()
            await daemon.wait()
            rebooted.cancel()
            await asyncio.gather(rebooted, return_exceptions=True)

    async def kill_at(self, entry: int, point: str) -> None:
        """Runs the daemon until it dies at a point of the journal."""
        daemon = await self._daemon(entry, point)
        try:
            async with asyncio.timeout(_PATIENCE):
                await daemon.wait()
        finally:
            if daemon.returncode is None:
                daemon.kill()
                await daemon.wait()
        assert daemon.returncode == -signal.SIGKILL

    async def crash(self) -> None:
        boots = self._machine.boots
        await self._machine.crash()
        self.crashes += 1
        await self._machine.running(boots=boots + 1, timeout=_PATIENCE)

    async def _daemon(self, entry: int, point: str) -> asyncio.subprocess.Process:
        argv = (self._leader, self.name, str(self.cluster.kubeconfig), str(entry), point)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.daemon.crashing",
            *argv,
            cwd=REPOSITORY,
            stderr=asyncio.subprocess.DEVNULL,
        )

    def entries(self) -> list[int]:
        host = self.host()
        try:
            return everykind.acted(host.root)
        finally:
            host.close()

    def tree(self) -> dict[str, object]:
        """What an update may change, with boot entries told by what they pass and not by their numbers."""
        host = self.host()
        try:
            found: dict[str, object] = {
                path: entry
                for path, entry in everykind.tree(host.root, _FOLDERS).items()
                if not path.startswith((*_VOLATILE, "/boot/loader"))
            }
            found["kernel"] = (host.kernel.configured(), host.kernel.running())
            found["entries"] = len(host.root.list(_ENTRIES))
            found["password"] = host.accounts.password_hash("core")
            return found
        finally:
            host.close()
