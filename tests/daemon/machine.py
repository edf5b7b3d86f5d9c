"""A machine for tests: a directory-rooted host, whose daemon runs in this process and survives reboots."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.base.errors import HostError
from mco.daemon.context import Settings
from mco.daemon.main import Daemon, Options
from mco.daemon.provision import provision
from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.root import Root
from mco.plan.node.target import target
from mco.runtime.clock import Clock
from mco.runtime.metrics import Source
from tests.daemon.builders import typed

QUICK = Settings(first_retry=0.05, longest_retry=0.2, policies_retry=0.05, units_check=0.2)


class Machine:
    """`reboots` counts those that the daemon asked for; the machine then really boots and the daemon is
    started again, as systemd would. `ignores_entries`: its boot loader always boots the vendor's entry.
    `ignores_reboots`: it does not reboot when it is asked to, `refuses_reboots`: it says so. `kubeconfig`
    None: the machine gets its own identity with a bootstrap token. `effects`: what works on the machine's
    files when the daemon is started next. `families`: what the present daemon tells Prometheus."""

    def __init__(
        self, folder: Path, name: str, kubeconfig: Path | None, *, clock: Clock | None = None
    ) -> None:
        self._clock = clock
        self.name = name
        self.folder = folder
        self.kubeconfig = kubeconfig
        self._asked = asyncio.Event()
        self.machine = FakeMachine(folder, on_reboot=self._asked.set)
        self.reboots = 0
        self.ignores_entries = False
        self.ignores_reboots = False
        self.refuses_reboots = False
        self.settings = QUICK
        self.effects: Effects | None = None
        self.families: Source = lambda: ()
        self._running: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def root(self) -> Root:
        return self.machine.root

    def read(self, path: str) -> str:
        return self.root.read_text(path)

    def serve(self, config: Mapping[str, Any]) -> None:
        """Leave behind what a first boot with this config leaves: initial annotations."""
        name = config["metadata"]["name"]
        initial = {
            names.CURRENT_CONFIG: name,
            names.DESIRED_CONFIG: name,
            names.FIRST_PIVOT_CONFIG: name,
            names.STATE: names.STATE_DONE,
        }
        self.root.write(names.NODE_ANNOTATIONS_FILE, msgspec.json.encode(initial))
        provision(self.machine.host, target(typed(config)).config)
        self.machine.host.kernel.set(config["spec"]["kernelArguments"])
        self.boot()

    def boot(self) -> None:
        self.machine.boot()
        if self.ignores_entries:
            self.root.write("/proc/cmdline", b"root=LABEL=root ro quiet\n", mode=0o444)

    async def start(self) -> None:
        assert self._running is None
        self._running = asyncio.create_task(self._forever())

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            running, self._running = self._running, None
            with contextlib.suppress(asyncio.CancelledError):
                await running

    def _reboot_asked(self) -> None:
        if self.refuses_reboots:
            raise HostError("the machine refuses")
        self._loop.call_soon_threadsafe(self._asked.set)

    async def _forever(self) -> None:
        options = Options(
            kubeconfig=self.kubeconfig, node_name=self.name, register_node=True, agent=self.settings
        )
        while True:
            self._asked.clear()
            self.machine = FakeMachine(self.folder, on_reboot=self._reboot_asked, effects=self.effects)
            made = Daemon(self.machine.host, options, clock=self._clock)
            self.families = made.metrics.families
            daemon = asyncio.create_task(made.run())
            asked = asyncio.create_task(self._asked.wait())
            try:
                waited = [daemon] if self.ignores_reboots else [daemon, asked]
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if daemon.done():
                    daemon.result()
            finally:
                for task in (daemon, asked):
                    task.cancel()
                await asyncio.gather(daemon, asked, return_exceptions=True)
            self.reboots += 1
            self.boot()


@contextlib.asynccontextmanager
async def machine(folder: Path, name: str, kubeconfig: Path | None) -> AsyncIterator[Machine]:
    FakeMachine.create(folder, hostname=name).close()
    made = Machine(folder, name, kubeconfig)
    try:
        yield made
    finally:
        await made.stop()
        made.machine.close()
