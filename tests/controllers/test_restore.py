"""Rendered configs that somebody deleted or edited are made again as they were."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mco.api import names, resources
from mco.apiserver.server import Settings, running
from mco.controllers.copysearch import AGAIN
from mco.controllers.process import Controllers, Pace
from mco.controllers.render import RenderController
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import NotFoundError
from mco.render.checks import Versions
from mco.runtime.clock import SystemClock
from mco.runtime.supervise import beside
from tests.controllers.scene import POOL, Scene, scene
from tests.installed import VERSION, installed
from tests.servers.assets import find
from tests.servers.real import real_server


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene(tmp_path) as made:
        await made.input("one")
        await made.rendered()
        await made.look()
        yield made


async def test_a_deleted_config_is_back_with_the_same_bytes(stage: Scene) -> None:
    target = await stage.target()
    before = await stage.client.get(resources.MACHINE_CONFIGS, target)
    await stage.delete(target)
    await stage.look()
    after = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert after.metadata.uid != before.metadata.uid
    assert bytes(after.spec.config) == bytes(before.spec.config)
    assert after.metadata.owner_references == before.metadata.owner_references
    assert after.metadata.annotations == before.metadata.annotations


async def test_a_config_that_only_its_pool_needs_is_back_when_its_inputs_are(stage: Scene) -> None:
    old = await stage.target()
    await stage.input("two")
    await stage.look()
    await stage.delete(old)
    await stage.look()
    assert not await stage.exists(old)
    assert stage.events.all[-1] == (
        f"MachineConfigPool/{POOL}",
        "RenderedConfigLost",
        f"{old} is gone, needed by pool {POOL}, and its MachineConfigs have changed; no node has a copy. "
        "Create the MachineConfigs again as they were, or send those who need it elsewhere",
    )
    await stage.input("one")
    stage.clock.seconds += AGAIN
    await stage.look()
    await stage.restored(old)
    assert await stage.exists(old)


async def test_what_nobody_needs_stays_away(stage: Scene) -> None:
    old = await stage.target()
    await stage.input("two")
    await stage.rendered()
    await stage.input("one")
    await stage.look()
    await stage.delete(old)
    await stage.look()
    assert not await stage.exists(old)
    assert "RenderedConfigLost" not in stage.events.reasons()


async def test_an_edited_config_is_put_right_and_that_is_told(stage: Scene) -> None:
    target = await stage.target()
    before = await stage.client.get(resources.MACHINE_CONFIGS, target)
    spec = {"kernelArguments": ["evil"], "config": {"storage": None}}
    await stage.client.patch(resources.MACHINE_CONFIGS, target, {"spec": spec})
    await stage.look()
    after = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert after.spec == before.spec
    text = f"{target} was changed by somebody else, and is put back as it was rendered"
    assert stage.events.all[-1] == (f"MachineConfig/{target}", "RenderedConfigRepaired", text)
    await stage.look()
    assert stage.events.reasons().count("RenderedConfigRepaired") == 1


async def test_so_is_one_that_was_given_what_it_has_none_of(stage: Scene) -> None:
    """What the original takes for no opinion."""
    target = await stage.target()
    before = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert before.spec.os_image_url == ""
    await stage.client.patch(resources.MACHINE_CONFIGS, target, {"spec": {"osImageURL": "evil.example/os"}})
    await stage.look()
    after = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert after.spec == before.spec
    assert stage.events.reasons().count("RenderedConfigRepaired") == 1


async def test_another_version_of_ours_accuses_nobody(stage: Scene) -> None:
    """It says of itself what it is, and changes nothing else."""
    target = await stage.target()
    versions = Versions(raw=VERSION, hash="another")
    upgraded = RenderController(stage.client, stage.caches, stage.events, stage.clock, versions)
    await upgraded.reconcile(POOL)
    found = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert found.metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION) == "another"
    assert "RenderedConfigRepaired" not in stage.events.reasons()


async def test_an_orphan_is_owned_again_and_never_deleted(stage: Scene) -> None:
    """The report's side bug was a malformed patch of just this list."""
    target = await stage.target()
    before = await stage.client.get(resources.MACHINE_CONFIGS, target)
    await stage.client.patch(resources.MACHINE_CONFIGS, target, {"metadata": {"ownerReferences": None}})
    await stage.look()
    after = await stage.client.get(resources.MACHINE_CONFIGS, target)
    assert after.metadata.uid == before.metadata.uid
    assert after.metadata.owner_references == before.metadata.owner_references


@contextlib.asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[Path]:
    async with running(Settings(data_dir=folder)) as api:
        yield api.kubeconfig


@contextlib.asynccontextmanager
async def real(folder: Path) -> AsyncIterator[Path]:
    with real_server(find(), folder) as api:
        yield api.kubeconfig


@pytest.mark.parametrize("server", [embedded, real])
async def test_a_config_is_back_at_once_though_its_inputs_have_not_settled(
    server: Callable[[Path], AbstractAsyncContextManager[Path]], tmp_path: Path
) -> None:
    """In a tenth of a second on a quiet machine; the promise is one."""
    async with server(tmp_path / "api") as kubeconfig, Client(load(kubeconfig)) as client:
        await installed(client)
        body = {"metadata": {"name": "00-worker", "labels": {names.ROLE_LABEL: POOL}}}
        spec = {"config": {"ignition": {"version": "3.5.0"}}}
        await client.create(resources.MACHINE_CONFIGS, body | {"spec": spec})
        async with controllers(client, settle=0.0):
            target = await until_rendered(client)
        async with controllers(client, settle=36000.0):
            before = await client.get(resources.MACHINE_CONFIGS, target)
            gone = time.monotonic()
            await client.delete(resources.MACHINE_CONFIGS, target)
            async with asyncio.timeout(60):
                while not (uid := await uid_of(client, target)):
                    pass
            seconds = time.monotonic() - gone
            print(f"back after {seconds:.3f} s")
            assert uid != before.metadata.uid
            assert seconds < 5.0


@contextlib.asynccontextmanager
async def controllers(client: Client, settle: float) -> AsyncIterator[None]:
    made = Controllers(client, SystemClock(), pace=Pace(settle=settle))
    try:
        async with beside(*(part() for part in made.parts.values())):
            await made.caches.synced()
            yield
    finally:
        await made.close()


async def until_rendered(client: Client) -> str:
    async with asyncio.timeout(60):
        while True:
            pool = await client.get(resources.MACHINE_CONFIG_POOLS, POOL)
            if pool.spec.configuration.name:
                return pool.spec.configuration.name


async def uid_of(client: Client, config: str) -> str:
    try:
        return (await client.get(resources.MACHINE_CONFIGS, config)).metadata.uid
    except NotFoundError:
        return ""
