"""Crashes of a real machine on its way from one config to another, and what has to become of each."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

from mco.lab.instance import open_lab
from tests.daemon import cluster as clusters
from tests.daemon.crashing import BACKWARDS, POINTS
from tests.daemon.everykind import NEW, OLD, plan
from tests.daemon.realmachine import RealMachine


class Crash(NamedTuple):
    """At a point of a journal entry of the update from OLD to NEW, or `back`. `withdrawn`: the config before
    is wanted again afterwards, as the points of undoing need it."""

    entry: int
    point: str
    back: bool = False
    withdrawn: bool = False


class Journeys:
    """Leads one real machine from config to config."""

    def __init__(self, real: RealMachine) -> None:
        self._real = real
        self._trees: list[dict[str, object]] = [{}, {}]
        self._entries: dict[bool, list[int]] = {}
        self._at = 0

    async def undisturbed(self) -> None:
        """Finds out what the trees of NEW and OLD are on this machine, and what is done on the way."""
        for number in (1, 0):
            await self._go(number)
            self._trees[number] = self._real.tree()
            self._entries[number == 0] = self._real.entries()

    def crashes(self) -> Iterator[Crash]:
        """Every one that there can be."""
        for back, entries in self._entries.items():
            for entry in entries:
                yield from (Crash(entry, point, back) for point in POINTS)
                yield Crash(entry, "done", back, withdrawn=True)
                yield from (Crash(entry, point, back, withdrawn=True) for point in BACKWARDS)

    async def tried(self, crash: Crash) -> str:
        """What is wrong afterwards, or nothing."""
        start, end = (1, 0) if crash.back else (0, 1)
        if self._at != start:
            await self._go(start)
        reboots = self._real.reboots
        await self._target(end)
        if crash.point in BACKWARDS:
            await self._real.kill_at(len(plan(back=crash.back)), "recorded")
            await self._target(start)
        await self._real.kill_at(crash.entry, crash.point)
        await self._real.crash()
        await self._go(start if crash.withdrawn else end)
        more = self._real.reboots - reboots
        wrong = _difference(self._trees[self._at], self._real.tree())
        return f"{more} reboots" if more > 1 else ", ".join(wrong)

    async def _go(self, number: int) -> None:
        await self._target(number)
        await self._real.done(_CONFIGS[number])
        self._at = number

    async def _target(self, number: int) -> None:
        await self._real.cluster.target(self._real.name, _CONFIGS[number])


_CONFIGS = (OLD, NEW)


def _difference(wanted: dict[str, object], found: dict[str, object]) -> list[str]:
    return sorted(path for path in {*wanted, *found} if wanted.get(path) != found.get(path))


@contextlib.asynccontextmanager
async def journeys(folder: Path) -> AsyncIterator[Journeys]:
    """Of a real machine that has joined with OLD."""
    async with (
        clusters.running(folder / "cluster") as cluster,
        open_lab("one", folder / "data", throw_away=True) as lab,
    ):
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        real = RealMachine(machine, cluster)
        await cluster.create(OLD, NEW)
        await cluster.report_of(real.name)
        await real.serve(OLD)
        await real.done(OLD)
        found = Journeys(real)
        await found.undisturbed()
        yield found
