"""Real machines of a fleet: the lab's, asked from inside."""

from __future__ import annotations

import asyncio

from mco.base.errors import HostError
from mco.fleet.hosts import OFF, FileFacts, Phase, UnitFacts
from mco.lab.firstboot import Source
from mco.lab.instance import Lab
from mco.lab.machine import Machine

_SSH = (
    "ssh",
    "-o",
    "BatchMode=yes",
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "-o",
    "LogLevel=ERROR",
    "-o",
    "IdentitiesOnly=yes",
    "-o",
    "ConnectTimeout=5",
)


class RealHosts:
    real = True

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.address = lab.network.host_address

    def start(self, name: str, source: Source) -> RealMachine:
        machine = self._lab.machine(name, source)
        machine.start()
        return RealMachine(machine)

    def known(self) -> list[str]:
        return self._lab.known()

    def phase(self, name: str) -> Phase:
        machine = self._lab.machines.get(name)
        if machine is None:
            return OFF
        return Phase(text=machine.state.value, boots=machine.boots, note=machine.message)


class RealMachine:
    def __init__(self, machine: Machine) -> None:
        self.name = machine.name
        self._machine = machine

    async def file(self, path: str) -> FileFacts:
        mode, owner = (await self._run("stat", "--format=%a %U:%G", path)).decode().split()
        return FileFacts(data=await self._run("cat", path), mode=mode.rjust(4, "0"), owner=owner)

    async def unit(self, name: str) -> UnitFacts:
        properties = ("ActiveState", "UnitFileState", "DropInPaths")
        text = (await self._run("systemctl", "show", f"--property={','.join(properties)}", name)).decode()
        facts = dict(line.partition("=")[::2] for line in text.splitlines())
        return UnitFacts(
            active=facts["ActiveState"],
            enabled=facts["UnitFileState"],
            dropins=tuple(facts["DropInPaths"].split()),
        )

    async def kernel_arguments(self) -> str:
        return (await self._run("cat", "/proc/cmdline")).decode().strip()

    async def boot_id(self) -> str:
        return await self._machine.boot_id()

    async def login(self, key: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *_SSH,
            "-i",
            key,
            f"core@{self._machine.address}",
            "id -un",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await asyncio.wait_for(process.communicate(), 15)
        if process.returncode != 0:
            raise HostError(f"ssh failed: {error.decode().strip()}", subject=f"machine/{self.name}")
        return out.decode().strip()

    async def _run(self, *argv: str) -> bytes:
        return (await self._machine.exec(argv)).check().stdout
