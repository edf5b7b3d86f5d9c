"""Directory-rooted hosts of a fleet: a folder and a daemon process each, for hosts that cannot boot machines.

What a machine's power switch, boot loader and init do for real ones happens here: the config is fetched and
written, the first boot completed, the daemon started, and started again after each reboot.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator

from mco.base.errors import HostError, MCOError, Unsupported
from mco.daemon.provision import provision
from mco.fleet.components import Component, Supervisor, describe_exit, last_lines
from mco.fleet.hosts import OFF, FileFacts, Phase, UnitFacts
from mco.fleet.instance import Instance
from mco.host.fake import FakeMachine
from mco.host.kernel import CMDLINE_FILE
from mco.host.root import Root
from mco.ignition.parse import parse_and_convert
from mco.lab.events import Listener, MachineEvent, State
from mco.lab.firstboot import Source

_ACCEPT = "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1"
_RETRY_SECONDS = 1.0
_FETCH_SECONDS = 10.0
_PROVISIONED = "provisioned"


class FolderHosts:
    """Made by `open_folders`."""

    real = False
    address = "127.0.0.1"

    def __init__(self, instance: Instance, listen: Listener) -> None:
        self._instance = instance
        self._listen = listen
        self._machines: dict[str, FolderMachine] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, source: Source) -> FolderMachine:
        machine = FolderMachine(name, self._instance, source, self._listen)
        self._machines[name] = machine
        self.tasks.append(asyncio.create_task(machine.live(), name=f"host {name}"))
        return machine

    def known(self) -> list[str]:
        folder = self._instance.machines
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def phase(self, name: str) -> Phase:
        machine = self._machines.get(name)
        if machine is None:
            return OFF
        return Phase(text=machine.state.value, boots=machine.boots, note=machine.note)


class FolderMachine:
    def __init__(self, name: str, instance: Instance, source: Source, listen: Listener) -> None:
        self.name = name
        self.state = State.CREATED
        self.boots = 0
        self.note = ""
        self._folder = instance.machines / name
        self._log = instance.logs / f"{name}.log"
        self._source = source
        self._listen = listen
        self._began = time.monotonic()

    async def live(self) -> None:
        """Provisions, boots, and boots again after each reboot, until cancelled."""
        while not (self._folder / _PROVISIONED).exists():
            await self._provision()
        self.boots = 1
        while True:
            try:
                await self._one_boot()
            except (MCOError, OSError) as error:
                await self._failed(str(error))

    async def _one_boot(self) -> None:
        self._set(State.BOOTING, self.note)
        code = await self._run("firstboot")
        if code == 0 and not await asyncio.to_thread(self._reboots):
            self._set(State.RUNNING)
            code = await self._run("start", "--register-node")
        if await asyncio.to_thread(self._reboots):
            self._set(State.REBOOTING)
            await asyncio.to_thread(self._boot)
            self.boots += 1
        else:
            await self._failed(" ".join((describe_exit(code), *last_lines(self._log, 1))))

    async def _failed(self, note: str) -> None:
        """The daemon's service manager would try again, too."""
        self._set(State.BOOTING, note)
        await asyncio.sleep(_RETRY_SECONDS)

    async def _provision(self) -> None:
        self._set(State.PROVISIONING)
        try:
            config = await asyncio.to_thread(fetch, self._source)
            await asyncio.to_thread(self._write, config)
        except (MCOError, OSError) as error:
            self._set(State.PROVISIONING, str(error))
            await asyncio.sleep(_RETRY_SECONDS)

    def _write(self, config: bytes) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        machine = FakeMachine.create(self._folder, hostname=self.name)
        try:
            provision(machine.host, parse_and_convert(config))
        finally:
            machine.close()
        (self._folder / _PROVISIONED).touch()

    async def _run(self, *argv: str) -> int:
        component = Component(self.name, ("daemon", *argv, f"--fake-host={self._folder}"), self._log)
        return await Supervisor(component).once()

    def _boot(self) -> None:
        with contextlib.closing(FakeMachine(self._folder)) as machine:
            machine.boot()

    def _reboots(self) -> bool:
        with contextlib.closing(FakeMachine(self._folder)) as machine:
            return machine.pending_reboot is not None

    def _set(self, state: State, note: str = "") -> None:
        self.state, self.note = state, note
        elapsed = time.monotonic() - self._began
        self._listen(
            MachineEvent(machine=self.name, state=state, boots=self.boots, elapsed=elapsed, message=note)
        )

    # Evidence

    async def file(self, path: str) -> FileFacts:
        with self._opened() as machine:
            status = machine.root.stat(path)
            if status is None:
                raise HostError(f"{path}: no such file", subject=f"machine/{self.name}", path=path)
            users, groups = (_names(machine.root, f"/etc/{table}") for table in ("passwd", "group"))
            owner = f"{users.get(status.uid, status.uid)}:{groups.get(status.gid, status.gid)}"
            return FileFacts(
                data=machine.root.read(path, 1 << 20), mode=f"{status.mode & 0o7777:04o}", owner=owner
            )

    async def unit(self, name: str) -> UnitFacts:
        with self._opened() as machine:
            folder = f"/etc/systemd/system/{name}.d"
            dropins = machine.root.list(folder) if machine.root.stat(folder) else []
            return UnitFacts(
                active=machine.host.systemd.active_state(name),
                enabled=machine.host.systemd.is_enabled(name),
                dropins=tuple(f"{folder}/{dropin}" for dropin in dropins),
            )

    async def kernel_arguments(self) -> str:
        with self._opened() as machine:
            return machine.root.read_text(CMDLINE_FILE, 1 << 16).strip()

    async def boot_id(self) -> str:
        with self._opened() as machine:
            return machine.host.boot_id()

    async def login(self, key: str) -> str:
        raise Unsupported(
            "a folder has no SSH server", subject=f"machine/{self.name}", hint="real machines do"
        )

    def _opened(self) -> contextlib.closing[FakeMachine]:
        return contextlib.closing(FakeMachine(self._folder))


@contextlib.asynccontextmanager
async def open_folders(instance: Instance, listen: Listener) -> AsyncIterator[FolderHosts]:
    hosts = FolderHosts(instance, listen)
    instance.machines.mkdir(exist_ok=True, mode=0o700)
    try:
        yield hosts
    finally:
        for task in hosts.tasks:
            task.cancel()
        await asyncio.gather(*hosts.tasks, return_exceptions=True)


def fetch(source: Source) -> bytes:
    """The config, as the Ignition engine would ask for it. Raises HostError."""
    context = ssl.create_default_context(cadata=source.ca.decode())
    request = urllib.request.Request(source.url, headers={"Accept": _ACCEPT, **source.headers})
    try:
        with urllib.request.urlopen(request, timeout=_FETCH_SECONDS, context=context) as answer:
            body: bytes = answer.read()
            return body
    except (urllib.error.URLError, OSError) as error:
        raise HostError(f"the config server does not answer: {error}", path=source.url) from error


def _names(root: Root, path: str) -> dict[int, str]:
    """Names by number, from the machine's own passwd or group file."""
    rows = (line.split(":") for line in root.read_text(path, 1 << 20).splitlines())
    return {int(row[2]): row[0] for row in rows if len(row) > 2}
