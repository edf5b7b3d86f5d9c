"""An operator that ends between any two sync functions: the next one finishes (spec/operator.md 1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from mco.api import names
from mco.kube.events import Recorder
from mco.operator import install
from mco.operator.caches import Caches
from mco.operator.objects import Installation
from mco.operator.steps import Step
from mco.operator.sync import Sync
from mco.plan.installation import outcome
from mco.plan.installation.outcome import Waiting
from mco.runtime.clock import SystemClock
from tests.operator.world import SETTINGS, World, embedded, said

INSTALLATION = Installation(server="https://api.example:6443", ca=b"ca", version="0.1.0", commit="c")
STEPS = (
    outcome.RENDER_CONFIG,
    outcome.MACHINE_CONFIGURATION,
    outcome.MACHINE_CONFIG_NODE,
    outcome.MACHINE_CONFIG_POOLS,
    outcome.MACHINE_CONFIG_CONTROLLER,
    outcome.REQUIRED_POOLS,
)


class Killed(BaseException):
    """As a process that is gone: nothing catches it."""


class Ending(Sync):
    """Ends before the step that `before` names."""

    before = ""

    def _steps(self) -> list[Step]:
        async def end() -> Waiting | None:
            raise Killed

        return [Step(s.name, end, s.needs) if s.name == self.before else s for s in super()._steps()]


async def passed(world: World, before: str) -> None:
    """One pass of an operator that has just started."""
    clock = SystemClock()
    caches = Caches(world.client, components=False)
    events = Recorder(world.client, "machineconfigoperator", names.NAMESPACE, clock=clock)
    parts: Sequence[asyncio.Future[None]] = [
        asyncio.ensure_future(part()) for part in caches.parts().values()
    ]
    try:
        await caches.synced()
        Ending.before = before
        await Ending(world.client, INSTALLATION, caches, events, clock, bring_up=True).run("")
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        await events.close()


async def test_the_next_one_finishes(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await install.install(world.client, INSTALLATION)
        for step in STEPS:
            with pytest.raises(Killed):
                await passed(world, before=step)
        async with world.operator():
            await world.until(lambda found: said(found, "Degraded") == "False", SETTINGS)
            for kind, name in (
                ("ControllerConfig", names.CONTROLLER_CONFIG),
                ("MachineConfigPool", "master"),
                ("MachineConfigPool", "worker"),
            ):
                await world.until(lambda _: True, (names.API_VERSION, kind, name))
