"""One soak: an installation under fire, and what is checked in the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.record import Record
from mco.api import names, resources
from mco.base.errors import MCOError, Unavailable
from mco.daemon import units
from mco.fleet import seed
from mco.fleet.apply import apply
from mco.fleet.control import ControlPlane, control_plane
from mco.fleet.folders import open_folders
from mco.fleet.hosts import Hosts, Machine
from mco.fleet.instance import Instance
from mco.fleet.patience import patiently
from mco.fleet.real import RealHosts
from mco.lab.events import MachineEvent
from mco.lab.instance import Lab, open_lab

_CONVERGES = 600.0
"""Seconds for one rollout, whatever is killed meanwhile."""
_HEALING = 10.0
"""Seconds that the system gets after a kill to make any progress, on however slow a host."""
_COMPONENTS = ("apiserver", "controller", "operator", "configserver")
_DAEMON = "daemon"
_FILE = "/etc/soak"
_QUIET_FILE = "/etc/nmstate/openshift/soak.yml"
"""A policy says that a change of it needs nothing."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`pause`: seconds between two kills, at least and at most. `outage`: how long the API server is away."""

    seed: int
    seconds: float
    machines: int
    directories: bool
    outage: float
    pause: tuple[float, float] = (1.0, 6.0)
    max_unavailable: int = 2


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`wrong` has a sentence for everything that should not be."""

    rollouts: int
    kills: int
    reboots: int
    most_away: int
    slowest: float
    wrong: tuple[str, ...]


async def soak(folder: Path, plan: Plan) -> Outcome:
    async with installed_fleet(folder, plan) as fleet:
        await fleet.first_boot()
        return await _Soak(plan, fleet).run()


@contextlib.asynccontextmanager
async def installed_fleet(folder: Path, plan: Plan) -> AsyncIterator[Fleet]:
    instance = Instance("soak", folder / "soak")
    async with (
        _hosts(instance, plan) as (hosts, lab),
        control_plane(instance, hosts.address, 0.0) as plane,
    ):
        record = Record(plane.client)
        following = asyncio.create_task(record.run())
        try:
            yield Fleet(plan, plane, hosts, lab, record)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


@contextlib.asynccontextmanager
async def _hosts(instance: Instance, plan: Plan) -> AsyncIterator[tuple[Hosts, Lab | None]]:
    if plan.directories:
        async with open_folders(instance, _ignore) as folders:
            yield folders, None
        return
    async with open_lab("soak", instance.machines, units=units.files(), throw_away=True) as lab:
        yield RealHosts(lab), lab


def _ignore(event: MachineEvent) -> None:
    del event


class Fleet:
    """An installation with machines, and one MachineConfig that changes; `wanted` is what it says by kind,
    `reboots` how many changes needed one."""

    def __init__(
        self, plan: Plan, plane: ControlPlane, hosts: Hosts, lab: Lab | None, record: Record
    ) -> None:
        self._plan = plan
        self._plane = plane
        self.hosts = hosts
        self.lab = lab
        self.record = record
        self.machines: dict[str, Machine] = {}
        self.wanted: dict[str, str] = {}
        self.reboots = 0

    async def first_boot(self) -> None:
        await seed.seed(self._plane.client)
        limit = {"spec": {"maxUnavailable": self._plan.max_unavailable}}
        await self._plane.client.patch(resources.MACHINE_CONFIG_POOLS, names.WORKER, limit)
        await self.record.until(self.record.served, _CONVERGES, "rendering")
        for number in range(self._plan.machines):
            name = f"{names.WORKER}-{number + 1}"
            self.machines[name] = self.hosts.start(name, await self._plane.source(name, names.WORKER))
        await self.updated("first boot")

    async def change(self, kind: str, number: int) -> None:
        self.reboots += kind != "quiet file"
        self.wanted[kind] = f"soak-{number}"
        await patiently(partial(apply, self._plane.client, [_config(self.wanted)]), 300.0)

    async def updated(self, what: str) -> None:
        await self.record.until(
            lambda: self.record.updated(len(self.machines), self.wanted), _CONVERGES, what
        )

    def boots(self) -> dict[str, int]:
        return {name: self.hosts.phase(name).boots for name in self.machines}

    async def lost(self) -> list[str]:
        """What the machines do not have."""
        wrong = []
        for name, machine in self.machines.items():
            for kind, path in (("file", _FILE), ("quiet file", _QUIET_FILE)):
                if kind in self.wanted and (await machine.file(path)).data.decode() != self.wanted[kind]:
                    wrong.append(f"{name}: {path} is not {self.wanted[kind]}")
            argument = self.wanted.get("kernel argument", "")
            if argument and argument not in (await machine.kernel_arguments()).split():
                wrong.append(f"{name} does not run with {argument}")
        return wrong


class _Soak:
    def __init__(self, plan: Plan, fleet: Fleet) -> None:
        self._plan = plan
        self._fleet = fleet
        self._record = fleet.record
        self._chance = random.Random(plan.seed)
        self._kills = 0
        self._slowest = 0.0

    async def run(self) -> Outcome:
        loop = asyncio.get_running_loop()
        end, rollouts = loop.time() + self._plan.seconds, 0
        boots = self._fleet.boots()
        self._record.begin()
        killing = asyncio.create_task(self._kill_on())
        try:
            while loop.time() < end or rollouts == 0:
                await self._roll(rollouts)
                rollouts += 1
                if rollouts == 1:
                    await self._outage(rollouts)
                    rollouts += 1
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
        fleet = self._fleet
        wrong = [*self._wrong_boots(boots), *await fleet.lost(), *self._record.lost(set(fleet.machines))]
        if self._record.most_away > self._plan.max_unavailable:
            wrong.append(f"{self._record.most_away} nodes were on their way at once")
        return Outcome(
            rollouts=rollouts,
            kills=self._kills,
            reboots=fleet.reboots * len(fleet.machines),
            most_away=self._record.most_away,
            slowest=self._slowest,
            wrong=tuple(wrong),
        )

    async def _roll(self, number: int) -> None:
        """One change, and until every machine has it."""
        kind = self._chance.choice(("file", "quiet file", "kernel argument"))
        began = asyncio.get_running_loop().time()
        await self._fleet.change(kind, number)
        await self._fleet.updated(f"rollout {number} ({kind})")
        self._slowest = max(self._slowest, asyncio.get_running_loop().time() - began)

    async def _outage(self, number: int) -> None:
        """The API server is away from the middle of a rollout on."""
        await self._fleet.change("kernel argument", number)
        with contextlib.suppress(Unavailable):
            await self._record.until(lambda: self._record.away > 0, 30.0, "a node on its way")
        end = asyncio.get_running_loop().time() + self._plan.outage
        while asyncio.get_running_loop().time() < end:
            for pid in _children("apiserver"):
                self._kill(pid)
            await asyncio.sleep(0.05)
        await self._fleet.updated(f"rollout {number} (API server away for {self._plan.outage:g} s)")

    async def _kill_on(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(*self._plan.pause))
            await self._record.news(_HEALING)
            victim = self._chance.choice((*_COMPONENTS, _DAEMON, _DAEMON))
            if victim == _DAEMON and self._fleet.lab is not None:
                await self._kill_inside(self._fleet.lab)
            elif pids := _children(victim):
                self._kill(self._chance.choice(pids))

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self._kills += 1

    async def _kill_inside(self, lab: Lab) -> None:
        """A machine that is just rebooting has no daemon."""
        machine = lab.machines[self._chance.choice(sorted(self._fleet.machines))]
        with contextlib.suppress(MCOError):
            await machine.exec(["systemctl", "kill", "--signal=KILL", units.DAEMON_SERVICE])
            self._kills += 1

    def _wrong_boots(self, before: Mapping[str, int]) -> list[str]:
        needed = self._fleet.reboots
        return [
            f"{name} rebooted {now - before[name]} times for {needed} changes that need it"
            for name, now in self._fleet.boots().items()
            if now - before[name] != needed
        ]


def _config(wanted: Mapping[str, str]) -> dict[str, Any]:
    paths = {"file": _FILE, "quiet file": _QUIET_FILE}
    files = [
        {"path": path, "mode": 0o644, "contents": {"source": f"data:,{wanted[kind]}"}}
        for kind, path in paths.items()
        if kind in wanted
    ]
    arguments = [wanted["kernel argument"]] if "kernel argument" in wanted else []
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {
            "name": "90-soak",
            "labels": {names.ROLE_LABEL: names.WORKER},
        },
        "spec": {
            "config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}},
            "kernelArguments": arguments,
        },
    }


def _children(command: str) -> list[int]:
    """Processes of this one that run `mco COMMAND`; of daemons, those that have started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            argv = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid() and "mco.cli.main" in argv:
            given = argv[argv.index("mco.cli.main") + 1 :]
            if given[0] == command and (command != _DAEMON or given[1] == "start"):
                found.append(int(folder.name))
    return sorted(found)
