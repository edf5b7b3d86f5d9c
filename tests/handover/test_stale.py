"""A leader that was stopped while it led, and wakes up when another one does (design.md 10).

Nothing can tie a write to a Lease. What had not been checked yet when the process was stopped is not sent;
what was on its way carries the version that it was decided on, and is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mco.api import names
from mco.api.controllerconfig import TEMPLATE_CONTROLLER_COMPLETED
from mco.api.meta import conditions as cond
from mco.api.meta.objects import Object
from mco.api.resources import (
    CONTROLLER_CONFIGS,
    CUSTOM_RESOURCE_DEFINITIONS,
    MACHINE_CONFIG_NODES,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NODES,
    Resource,
)
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.kube.store import Store
from tests.handover.processes import CONTROLLER, LEADS, OPERATOR, PATIENCE, Running, Starter
from tests.handover.way import way
from tests.kube.scripted import Asked
from tests.servers.real import RealServer

T = TypeVar("T", bound=Object)
CUSTOM = "infra"
CUSTOM_ROLE = f"{names.NODE_ROLE_PREFIX}{CUSTOM}"


async def until(client: Client, resource: Resource[T], holds: Callable[[Store[T]], bool]) -> None:
    """Waits until the objects of a kind are as they shall be."""
    changed = asyncio.Event()
    informer = Informer(client, resource)
    informer.add_handler(lambda *_: changed.set())
    following = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await informer.synced()
            while not holds(informer.store):
                changed.clear()
                await changed.wait()
    finally:
        following.cancel()
        await asyncio.wait({following})


@pytest.fixture
async def installed(
    server: RealServer, admin: Client, unscaled: Starter, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What an operator makes of an empty cluster is there."""
    kind = f"controllerconfigs.{names.GROUP}"
    if kind in {definition.name for definition in (await admin.list(CUSTOM_RESOURCE_DEFINITIONS)).items}:
        return
    async with way(server, tmp_path_factory.mktemp("way")) as (line, _):
        installer = await unscaled.start(OPERATOR, line.kubeconfig, "--no-leader-elect", *_machines(server))
        await until(admin, CUSTOM_RESOURCE_DEFINITIONS, lambda store: kind in store)
        await until(admin, CONTROLLER_CONFIGS, _completed)
        await until(admin, MACHINE_CONFIG_POOLS, lambda store: names.WORKER in store)
        installer.terminate()
        assert await installer.ended() == 0
        assert line.untied == []


def _machines(server: RealServer) -> tuple[str, str]:
    """How machines reach the API server, where the operator's own way is another."""
    return f"--apiserver-url={server.url}", f"--ca={server.folder / 'ca.crt'}"


def _completed(store: Store[Any]) -> bool:
    config = store.get(names.CONTROLLER_CONFIG)
    return config is not None and cond.is_true(config.status.conditions, TEMPLATE_CONTROLLER_COMPLETED)


def _patches(resource: Resource[Any], name: str) -> Callable[[Asked], bool]:
    path = resource.path(name)
    return lambda asked: asked.method == "PATCH" and asked.path == path


async def _ended_by_its_lease(process: Running) -> None:
    process.thaw()
    assert await process.ended() == 1
    assert "failed: lease machine-config" in process.last_words


@pytest.mark.usefixtures("installed")
async def test_an_operator_that_wakes_up_changes_nothing(
    server: RealServer, admin: Client, scaled: Starter, tmp_path: Path
) -> None:
    """Of two nodes that moved to another pool one report was on its way, the other one was not decided on
    yet. Both moved back since."""

    async def move(name: str, custom: bool) -> None:
        await admin.patch(NODES, name, {"metadata": {"labels": {CUSTOM_ROLE: "" if custom else None}}})

    async def reported(pool: str) -> None:
        def there(store: Store[Any]) -> bool:
            found = [store.get(name) for name in ("n1", "n2")]
            return all(report is not None and report.spec.pool.name == pool for report in found)

        await until(admin, MACHINE_CONFIG_NODES, there)

    selector = {"nodeSelector": {"matchLabels": {CUSTOM_ROLE: ""}}}
    await admin.create(MACHINE_CONFIG_POOLS, {"metadata": {"name": CUSTOM}, "spec": selector})
    for name in ("n1", "n2"):
        labels = {f"{names.NODE_ROLE_PREFIX}{names.WORKER}": ""}
        await admin.create(NODES, {"metadata": {"name": name, "labels": labels}})
    async with way(server, tmp_path) as (line, _):
        stale = await scaled.start(OPERATOR, line.kubeconfig, *_machines(server))
        await reported(names.WORKER)
        line.hold(_patches(MACHINE_CONFIG_NODES, "n1"))
        await move("n1", True)
        await line.held.wait()
        stale.freeze()
        await move("n2", True)
        successor = await scaled.start(OPERATOR, server.kubeconfig)
        await successor.said(LEADS)
        await reported(CUSTOM)
        for name in ("n1", "n2"):
            await move(name, False)
        await reported(names.WORKER)
        before = (await admin.list(MACHINE_CONFIG_NODES)).items
        assert (await line.let_go()).status == 409
        sent = len(line.writes)
        await _ended_by_its_lease(stale)
        assert line.writes[sent:] == []
        assert line.untied == []
        assert (await admin.list(MACHINE_CONFIG_NODES)).items == before


@pytest.mark.usefixtures("installed")
async def test_controllers_that_wake_up_change_nothing(
    server: RealServer, admin: Client, scaled: Starter, tmp_path: Path
) -> None:
    """The pool's target was on its way; another config, which changes it, was not seen yet."""

    async def config(name: str) -> None:
        labels = {names.ROLE_LABEL: names.WORKER}
        document = {"ignition": {"version": "3.5.0"}, "storage": {"files": [{"path": f"/etc/{name}"}]}}
        spec = {"config": document}
        await admin.create(MACHINE_CONFIGS, {"metadata": {"name": name, "labels": labels}, "spec": spec})

    async def target() -> str:
        return (await admin.get(MACHINE_CONFIG_POOLS, names.WORKER)).spec.configuration.name

    async with way(server, tmp_path) as (line, _):
        stale = await scaled.start(CONTROLLER, line.kubeconfig)
        await stale.said(LEADS)
        line.hold(_patches(MACHINE_CONFIG_POOLS, names.WORKER))
        await config("50-first")
        await line.held.wait()
        stale.freeze()
        await config("60-second")
        successor = await scaled.start(CONTROLLER, server.kubeconfig)
        await successor.said(LEADS)
        await until(admin, MACHINE_CONFIG_POOLS, _made_of("50-first", "60-second"))
        wanted = await target()
        assert (await line.let_go()).status == 409
        sent = len(line.writes)
        await _ended_by_its_lease(stale)
        assert line.writes[sent:] == []
        assert line.untied == []
        assert await target() == wanted


def _made_of(*sources: str) -> Callable[[Store[Any]], bool]:
    def holds(store: Store[Any]) -> bool:
        pool = store.get(names.WORKER)
        return pool is not None and {s.name for s in pool.spec.configuration.source or ()} >= set(sources)

    return holds
