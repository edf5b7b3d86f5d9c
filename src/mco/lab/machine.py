"""One real machine: its disk, its first boot, its boots after that, and how it is entered, crashed and
stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence

from mco.base.errors import Conflict, HostError, MCOError, Unavailable
from mco.lab import cgroups, launch, process, record
from mco.lab.commands import CLEAN_ENVIRONMENT, Completed, complete, in_thread
from mco.lab.disk import Disk
from mco.lab.events import MachineEvent, State
from mco.lab.firstboot import FirstBoot, Source
from mco.lab.ledger import Cgroup
from mco.lab.network import delete_link
from mco.lab.record import Record
from mco.lab.site import Site

_REBOOT = 133  # what nspawn exits with when the machine asks for a reboot
_RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0)  # between attempts to get a config
_ENDS = (State.STOPPED, State.FAILED)


class Machine:
    """Made by `Lab.machine`. `start` returns at once; the machine then lives in a task of the running loop
    until it powers off, fails, or `kill` or `poweroff` ends it. A reboot, and by default a crash, starts it
    again."""

    def __init__(
        self,
        site: Site,
        name: str,
        number: int,
        disk: Disk,
        source: Source | None,
        arguments: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self.name = name
        self.address = site.network.machine_address(number)
        self.disk = disk
        self.state = State.STOPPED if disk.provisioned else State.CREATED
        self.boots = 0
        self.message = ""
        self._site = site
        self._number = number
        self._source = source
        self._arguments = arguments
        self._files = {"host0.network": site.network.unit(number).encode(), **(files or {})}
        self._groups = cgroups.paths_for(site.tag, number, controllers=site.shape.controllers)
        self._entry = Cgroup(paths=tuple(str(group) for group in self._groups))
        self._task: asyncio.Task[None] | None = None
        self._restart = True
        self._changed = asyncio.Event()
        self._started = time.monotonic()

    # Life

    def start(self) -> None:
        """Raises Conflict if it runs already."""
        if self._task is not None and not self._task.done():
            raise Conflict("the machine is started already", subject=f"machine/{self.name}")
        self._restart = True
        self._started = time.monotonic()
        self._task = asyncio.create_task(self._live(), name=f"machine {self.name}")
        self._task.add_done_callback(lambda _: self._wake())

    async def _live(self) -> None:
        try:
            if not self.disk.provisioned:
                await self._provision()
            self.disk.check_layers()
            while await self._boot():
                pass
        except (MCOError, OSError) as error:
            self._set(State.FAILED, str(error))
        finally:
            await in_thread(self._clear)

    async def _provision(self) -> None:
        """A machine whose first boot fails is switched off and on again, as a real one would be, until the
        config server has what it needs."""
        attempt = 0
        while True:
            self._set(State.PROVISIONING, "")
            await in_thread(self.disk.clone, self._site.base, self._site.image, self.name, self._arguments)
            try:
                if self._source is not None:
                    engine = FirstBoot(self.disk, lambda message: self._set(State.PROVISIONING, message))
                    await engine.fetch(self._source)
                    await engine.apply()
            except HostError as error:
                self._set(State.PROVISIONING, str(error))
                await asyncio.sleep(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
                attempt += 1
            else:
                self.disk.mark_provisioned()
                return

    async def _boot(self) -> bool:
        """One boot from start to end; answers whether there is another."""
        self._site.ledger.add(self._entry)
        await in_thread(self._make_room)
        self.disk.prepare_boot(self._files, self._site.shape.volumes)
        self.boots += 1
        self._set(State.BOOTING, "")
        code = await process.boot(self._launch(), self._on_notify)
        if code == _REBOOT:
            self._set(State.REBOOTING, "")
            return True
        if code < 0:
            self._set(State.CRASHED, f"killed by signal {-code}")
            return self._restart
        if code == 0:
            self._set(State.STOPPED, "")
        else:
            self._set(State.FAILED, f"systemd-nspawn ended with {code}: {self._last_console_line()}")
        return False

    def _launch(self) -> launch.Launch:
        return launch.Launch(
            machine_id=self._machine_id,
            hostname=self.name,
            disk=self.disk,
            groups=self._groups,
            scope=cgroups.scope_name(self._site.tag, self._number),
            bridge=self._site.network.bridge,
            program=self._site.program,
            shape=self._site.shape,
        )

    @property
    def _machine_id(self) -> str:
        return f"{self._site.tag}-{self._number}"

    def _make_room(self) -> None:
        """Removes what the boot before left: processes, groups, and an interface that is just going away."""
        cgroups.kill(self._groups)
        if not cgroups.host_has_systemd():
            cgroups.make(self._groups)
        delete_link(f"vb-{self._machine_id}")

    def _clear(self) -> None:
        cgroups.kill(self._groups)
        cgroups.remove(self._groups)
        self._site.ledger.remove(self._entry)

    # Observation

    def _on_notify(self, fields: dict[str, str]) -> None:
        if fields.get("READY") == "1" and self.state is State.BOOTING:
            self._set(State.RUNNING, "")

    def _set(self, state: State, message: str) -> None:
        if (state, message) == (self.state, self.message) and state is not State.BOOTING:
            return
        self.state, self.message = state, message
        record.write(self._site.instance, self.record())
        event = MachineEvent(
            machine=self.name,
            state=state,
            boots=self.boots,
            elapsed=time.monotonic() - self._started,
            message=message,
        )
        self._wake()
        self._site.listen(event)

    def _wake(self) -> None:
        """Has everybody in `until` look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def record(self) -> Record:
        return Record(
            name=self.name,
            state=self.state,
            boots=self.boots,
            address=self.address,
            groups=self._entry.paths,
            console=str(self.disk.console),
            ignition_log=str(self.disk.ignition_log),
        )

    async def until(self, condition: Callable[[Machine], bool], *, timeout: float = 60.0) -> None:
        """Waits until `condition` holds for the machine, looked at after each change of its state. Raises
        Unavailable after `timeout` seconds, or as soon as the machine has ended without it."""
        try:
            async with asyncio.timeout(timeout):
                while not condition(self):
                    if self._task is None or self._task.done():
                        raise self._unavailable(f"the machine is {self.state}")
                    await self._changed.wait()
        except TimeoutError:
            raise self._unavailable(f"the machine is {self.state} after {timeout:g} s") from None

    async def running(self, *, boots: int = 1, timeout: float = 60.0) -> None:
        """Waits until it runs, in its boot number `boots` of this session or a later one."""
        await self.until(
            lambda machine: machine.state is State.RUNNING and machine.boots >= boots, timeout=timeout
        )

    def _unavailable(self, text: str) -> Unavailable:
        said = f"{text}: {self.message}" if self.message else text
        return Unavailable(said, subject=f"machine/{self.name}", path=str(self.disk.console))

    def _last_console_line(self) -> str:
        with contextlib.suppress(OSError):
            lines = self.disk.console.read_bytes()[-4096:].decode(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""

    # Commands

    async def exec(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0) -> Completed:
        """Runs a command in the machine. Raises Unavailable if it does not run, or goes down meanwhile
        without the command's end, or the time is over."""
        command = [*launch.enter(self.record().leader()), *argv]
        try:
            return await asyncio.wait_for(
                complete(command, stdin=stdin, environment=CLEAN_ENVIRONMENT), timeout
            )
        except TimeoutError:
            raise self._unavailable(f"{argv[0]} has not ended after {timeout:g} s") from None

    async def boot_id(self) -> str:
        return (await self.exec(["cat", "/proc/sys/kernel/random/boot_id"])).check().text

    async def crash(self, *, restart: bool = True) -> None:
        """Kills everything in the machine at once, as a power failure would, and returns when it is dead.
        Then it is started again, or not."""
        self._restart = restart
        # What is there now and nothing else: the next boot may begin before this one's last process is gone.
        await in_thread(cgroups.kill_processes, cgroups.members(self._groups), timeout=10.0)
        if not restart:
            await self.ended()

    async def poweroff(self, *, timeout: float = 20.0) -> None:
        """Shuts the machine down in order; after `timeout` seconds, or if it is not up, it is killed."""
        self._restart = False
        try:
            os.kill(self.record().leader(), signal.SIGRTMIN + 4)  # systemd(1): start poweroff.target
        except (Unavailable, ProcessLookupError):
            await self.kill()
            return
        if self._task is not None:
            try:
                await asyncio.wait_for(asyncio.shield(self._task), timeout)
            except TimeoutError:
                await self.kill()

    async def ended(self) -> None:
        """Waits until the machine has come to its end."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def abandon(self) -> None:
        """Lets go of the machine without waiting: it is not started again."""
        self._restart = False
        if self._task is not None:
            self._task.cancel()

    async def kill(self) -> None:
        """Ends the machine at once, whatever it is doing."""
        if self._task is None or self._task.done():
            return
        self.abandon()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        if self.state not in _ENDS:
            self._set(State.STOPPED, "")
