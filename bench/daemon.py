"""The daemon on a real machine: what it costs while nothing happens, and how soon a change that needs no
reboot is done after the node is told of it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench import Measurement
from bench.soaking import Fleet, Plan, installed_fleet
from mco.daemon import units
from mco.lab import checks
from mco.lab.machine import Machine

_IDLE_SECONDS = 60.0
_CHANGES = 5
_FACTS = """\
pid=$(systemctl show --property=MainPID --value {unit})
grep -E '^(Rss|Pss):' /proc/$pid/smaps_rollup | awk '{{print $2}}'
awk '{{print $14 + $15}}' /proc/$pid/stat
getconf CLK_TCK
"""


def measure() -> Iterator[Measurement]:
    if missing := checks.missing():
        print(f"  no real machine here: {missing[0].name}: {missing[0].found}")
        return
    with tempfile.TemporaryDirectory() as folder:
        seconds, rss, pss, cpu = asyncio.run(_measured(Path(folder)))
    yield Measurement("a change without reboot, annotation to Done", seconds, "s", 1)
    yield Measurement("idle: memory (RSS)", rss, "MB", 45, f"PSS {pss:.1f} MB")
    yield Measurement("idle: CPU", cpu, "%", 0.1)


async def _measured(folder: Path) -> tuple[float, float, float, float]:
    plan = Plan(seed=1, seconds=0, machines=1, directories=False, outage=0)
    async with installed_fleet(folder, plan) as fleet:
        await fleet.first_boot()
        times = [await _change(fleet, number) for number in range(_CHANGES)]
        assert fleet.lab is not None
        (machine,) = fleet.lab.machines.values()
        # What the last change left behind is not idleness.
        await asyncio.sleep(10.0)
        _, _, before, _ = await _facts(machine)
        await asyncio.sleep(_IDLE_SECONDS)
        rss, pss, after, ticks = await _facts(machine)
    cpu = 100.0 * (after - before) / ticks / _IDLE_SECONDS
    return median(times), rss * 1024 / 1e6, pss * 1024 / 1e6, cpu


async def _change(fleet: Fleet, number: int) -> float:
    """Seconds from the sight of a new desired config to the sight of Done."""
    await fleet.change("quiet file", number)
    await fleet.updated(f"change {number}")
    return fleet.record.last_way


async def _facts(machine: Machine) -> tuple[int, int, int, int]:
    """RSS and PSS in KiB, ticks of CPU until now, ticks in a second."""
    script = _FACTS.format(unit=units.DAEMON_SERVICE)
    said = (await machine.exec(["sh", "-c", script])).check().text.split()
    rss, pss, used, ticks = (int(number) for number in said)
    return rss, pss, used, ticks
