"""The render controller gives the names of the first render, on both API servers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from mco.api import controllerconfig as cc
from mco.api import machineconfigpool as mcp
from mco.api import resources
from mco.api.crds import definitions
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.resources import Resource
from mco.api.yaml import load_documents
from mco.apiserver.server import Settings, running
from mco.base.errors import MCOError
from mco.controllers.process import Controllers, Pace
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import NotFoundError
from mco.operator import objects
from mco.render.bootstrap import bootstrap, gather
from mco.render.checks import Versions
from mco.runtime import virtual
from mco.runtime.clock import Clock, SystemClock
from mco.runtime.supervise import beside
from mco.runtime.virtual import VirtualClock
from tests.property.installations import Installation, installations
from tests.servers import assets
from tests.servers.real import RealServer, real_server

KINDS: tuple[Resource[Any], ...] = (
    resources.MACHINE_CONFIGS,
    resources.MACHINE_CONFIG_POOLS,
    resources.CONTROLLER_CONFIGS,
)
PATIENCE = 600.0


def first_render(installation: Installation) -> dict[str, str] | str:
    """Names by pool, or why there are none."""
    text = b"\n---\n".join(msgspec.json.encode(item) for item in installation.written())
    try:
        result = bootstrap(gather(load_documents(text, "all.yaml")), "in", Versions())
    except MCOError as error:
        return error.message
    return {rendered.pool.name: rendered.name for rendered in result.rendered}


async def apply(client: Client, installation: Installation) -> None:
    whole = objects.controller_config(objects.Installation(server="https://api", ca=b"ca", version="1"))
    body = installation.controller | {"spec": whole["spec"] | installation.controller["spec"]}
    created = await client.create(resources.CONTROLLER_CONFIGS, body)
    done = Condition(type=cc.TEMPLATE_CONTROLLER_COMPLETED, status=cond.TRUE)
    conditions = cond.set_condition((), done, "2026-06-01T12:00:00Z")
    completed = {
        "observedGeneration": created.metadata.generation,
        "conditions": [msgspec.to_builtins(condition) for condition in conditions],
    }
    status = {"status": completed}
    await client.patch(resources.CONTROLLER_CONFIGS, created.name, status, subresource="status")
    for item in installation.pools:
        await client.create(resources.MACHINE_CONFIG_POOLS, item)
    for item in installation.machine_configs:
        await client.create(resources.MACHINE_CONFIGS, item)


@contextlib.asynccontextmanager
async def rendering(client: Client, clock: Clock) -> AsyncIterator[None]:
    controllers = Controllers(client, clock, pace=Pace(settle=0.0))
    try:
        async with beside(*(controllers.parts[part]() for part in ("caches", "render"))):
            yield
    finally:
        await controllers.close()


async def define(client: Client) -> None:
    """The definitions, and waits until their objects are served."""
    for body in definitions():
        await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
    for resource in KINDS:
        while True:
            try:
                await client.list(resource)
                break
            except NotFoundError:
                await asyncio.sleep(0.05)


async def in_cluster(client: Client, clock: Clock, installation: Installation) -> dict[str, str] | set[str]:
    """Names by pool once the controller has rendered what it can, or why it could not render some. Nothing of
    it is left in the cluster."""
    await apply(client, installation)
    async with rendering(client, clock), asyncio.timeout(PATIENCE):
        while True:
            pools = (await client.list(resources.MACHINE_CONFIG_POOLS)).items
            if all(pool.spec.configuration.name or _failure(pool) for pool in pools):
                break
            await asyncio.sleep(0.1)
    for resource in KINDS:
        for item in (await client.list(resource)).items:
            await client.delete(resource, item.name)
    failed = {text for pool in pools if (text := _failure(pool))}
    return failed or {pool.name: pool.spec.configuration.name for pool in pools}


async def embedded(folder: Path, installation: Installation) -> dict[str, str] | set[str]:
    async with running(Settings(data_dir=folder)) as api, Client(load(api.kubeconfig)) as client:
        await define(client)
        return await in_cluster(client, VirtualClock(datetime.now(UTC)), installation)


async def real(server: RealServer, installation: Installation) -> dict[str, str] | set[str]:
    async with Client(load(server.kubeconfig)) as client:
        return await in_cluster(client, SystemClock(), installation)


def _failure(pool: MachineConfigPool) -> str:
    found = cond.find(pool.status.conditions, mcp.RENDER_DEGRADED)
    return found.message if found and found.status == cond.TRUE else ""


def agree(ours: dict[str, str] | str, theirs: dict[str, str] | set[str]) -> None:
    if isinstance(theirs, set):
        assert ours in theirs
    else:
        assert ours == theirs


# Without the phases that explain and shrink: they run it again and again, each line traced.
few = settings(
    max_examples=3, deadline=None, phases=(Phase.generate,), suppress_health_check=[HealthCheck.too_slow]
)


@few
@given(installations())
def test_the_render_controller_gives_the_names_of_the_first_render(installation: Installation) -> None:
    with TemporaryDirectory() as folder:
        agree(first_render(installation), virtual.run(embedded(Path(folder), installation)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    async def prepare(made: RealServer) -> None:
        async with Client(load(made.kubeconfig)) as client:
            await define(client)

    with real_server(assets.find(), tmp_path_factory.mktemp("real")) as made:
        asyncio.run(prepare(made))
        yield made


@few
@given(installation=installations())
def test_so_it_does_on_a_real_server(server: RealServer, installation: Installation) -> None:
    agree(first_render(installation), asyncio.run(real(server, installation)))
