"""An operator that ends between any two sync functions: the next one finishes, and does nothing again
(spec/operator.md 1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from mco.api import names, resources
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.events import Recorder
from mco.operator import install
from mco.operator.caches import Caches
from mco.operator.objects import Installation
from mco.operator.steps import Step
from mco.operator.sync import Sync
from mco.payload import operands
from mco.payload.manifest import Manifest
from mco.plan.installation.outcome import Waiting
from mco.runtime import version
from mco.runtime.clock import SystemClock
from tests.operator.world import SETTINGS, World, embedded, said
from tests.servers.assets import find
from tests.servers.real import real_server

INSTALLATION = Installation(
    server="https://api.example:6443", ca=b"ca", version="0.1.0", commit=version.commit()
)
OPERANDS = operands.load(operands.Setting(image="example/mco:1", server=INSTALLATION.server))
_MADE = (
    resources.MACHINE_CONFIG_POOLS.path(),
    resources.CONTROLLER_CONFIGS.path(),
    resources.MACHINE_CONFIGURATIONS.path(),
    *(f"/api/v1/namespaces/{names.NAMESPACE}/{plural}" for plural in ("secrets", "configmaps")),
)
_RUNNING = (
    *(f"/apis/apps/v1/namespaces/{names.NAMESPACE}/{plural}" for plural in ("daemonsets", "deployments")),
    f"/apis/networking.k8s.io/v1/namespaces/{names.NAMESPACE}/networkpolicies",
)


class Killed(BaseException):
    """As a process that is gone: nothing catches it."""


class Ending(Sync):
    """Ends before the n-th of its `steps`."""

    before = 0
    steps: Sequence[str] = ()

    def _steps(self) -> list[Step]:
        async def end() -> Waiting | None:
            raise Killed

        found = super()._steps()
        self.steps = [step.name for step in found]
        return [Step(s.name, end, s.needs) if n == self.before else s for n, s in enumerate(found)]


class Place(World):
    """A server, and what the operator runs there."""

    def __init__(self, client: Client, operands: Sequence[Manifest]) -> None:
        super().__init__(client)
        self.operands = operands

    async def passed(self, before: int) -> Sequence[str]:
        """One pass of an operator that has just started; the names of its sync functions."""
        clock = SystemClock()
        caches = Caches(self.client, components=bool(self.operands))
        events = Recorder(self.client, "machineconfigoperator", names.NAMESPACE, clock=clock)
        parts = [asyncio.ensure_future(part()) for part in caches.parts().values()]
        Ending.before = before
        try:
            await caches.synced()
            sync = Ending(
                self.client, INSTALLATION, caches, events, clock, operands=self.operands, bring_up=True
            )
            with pytest.raises(Killed):
                await sync.run("")
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            await events.close()
        return sync.steps

    async def made(self) -> dict[str, str]:
        """Everything that is there by its path, and what becomes another when it is to be another."""
        found = {}
        for path in (*_MADE, *(_RUNNING if self.operands else ())):
            for item in msgspec.json.decode(await self.client.request("GET", path))["items"]:
                metadata = item["metadata"]
                state = metadata.get("generation") or metadata["resourceVersion"]
                found[f"{path}/{metadata['name']}"] = str(state)
        return found


@pytest.fixture(params=["embedded", "real"])
async def place(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    if request.param == "embedded":
        async with embedded(tmp_path) as world:
            yield Place(world.client, ())
        return
    # Of its own: others have what this is about under the same names.
    with real_server(find(), tmp_path_factory.mktemp("real")) as server:
        async with Client(load(server.kubeconfig)) as client:
            yield Place(client, OPERANDS)


async def test_the_next_one_finishes(place: Place) -> None:
    await install.install(place.client, INSTALLATION)
    steps, before = await place.passed(0), await place.made()
    for number in range(1, len(steps)):
        assert await place.passed(number) == steps
        made = await place.made()
        assert made.items() >= before.items()
        before = made
    async with place.operator(release=INSTALLATION.version, operands=place.operands):
        await place.until(lambda found: said(found, "Degraded") == "False", SETTINGS)
        finished = await place.made()
        assert finished.items() >= before.items()
        wanted = {"worker", "master", names.CONTROLLER_CONFIG, names.MACHINE_CONFIGURATION}
        wanted |= {manifest.identity.name for manifest in place.operands}
        assert {path.rpartition("/")[2] for path in finished} >= wanted
