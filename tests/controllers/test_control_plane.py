"""Masters, arbiters and the operator's node (spec/node.md 3.3 to 3.7, 12.7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest

from mco.api import names, resources
from mco.base.errors import NotFound
from mco.controllers.masters import MastersController
from mco.runtime.clock import SystemClock
from tests.controllers.stage import Stage, stage

MASTER = f"{names.NODE_ROLE_PREFIX}master"
CONTROL_PLANE = f"{names.NODE_ROLE_PREFIX}control-plane"
WORKER = f"{names.NODE_ROLE_PREFIX}worker"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    """Three masters and an arbiter, which keep a quorum together; all of them have to go to v1."""
    async with stage(tmp_path, "HighlyAvailableArbiter") as made:
        for name in ("master", "arbiter"):
            await made.pool(name)
        for number in range(3):
            await made.node(f"m{number}", "master")
        await made.node("a0", "arbiter")
        yield made


async def counted(on: Stage) -> tuple[int, int]:
    return (await on.counts("master"))[0], (await on.counts("arbiter"))[0]


async def test_masters_go_first_one_by_one_and_the_arbiter_last(on: Stage) -> None:
    order = []
    for _ in range(4):
        await on.step("arbiter")
        await on.step("master")
        (mover,) = await on.moving()
        order.append(mover)
        await on.arrives(mover)
    await on.step("master")
    assert order == ["m0", "m1", "m2", "a0"]
    assert await counted(on) == (3, 1)
    assert (await on.conditions("master"), await on.conditions("arbiter")) == ("TFF", "TFF")


async def test_an_arbiter_that_waits_says_for_whom(on: Stage) -> None:
    await on.step("master")
    why = on.told["arbiter"].waiting["a0"]
    assert (why.reason, why.text) == ("ControlPlane", "master nodes are unavailable: m0, m1, m2")


async def test_no_master_moves_while_the_arbiter_is_away(on: Stage) -> None:
    not_ready = {"conditions": [{"type": "Ready", "status": "False"}]}
    await on.client.patch(resources.NODES, "a0", {"status": not_ready}, subresource="status")
    await on.step("master")
    assert await on.moving() == set()
    why = on.told["master"].waiting["m1"]
    assert (why.reason, why.text) == ("ControlPlane", "arbiter nodes are unavailable: a0")
    assert await on.counts("arbiter") == (1, 0, 0, 1, 0)


async def test_paused_masters_leave_the_arbiter_to_itself(on: Stage) -> None:
    await on.change_pool("master", paused=True)
    await on.step("arbiter")
    assert await on.moving() == {"a0"}


async def test_paused_masters_of_which_one_is_away_keep_the_arbiter(on: Stage) -> None:
    await on.change_pool("master", paused=True)
    await on.change_node("m1", spec={"unschedulable": True})
    await on.step("arbiter")
    assert await on.moving() == set()
    assert await on.counts("arbiter") == (1, 0, 0, 0, 0)
    assert on.told["arbiter"].waiting["a0"].text == "master nodes are unavailable: m1"
    await on.change_node("m1", spec={"unschedulable": None})
    await on.step("master")
    assert await on.moving() == {"a0"}, "only masters had an event, and they do not move"


async def test_a_control_plane_without_its_arbiter_pool_is_an_error(on: Stage) -> None:
    await on.client.delete(resources.MACHINE_CONFIG_POOLS, "arbiter")
    with pytest.raises(NotFound, match='machineconfigpool "arbiter" not found'):
        await on.step("master")
    assert await on.moving() == set()


async def test_elsewhere_an_arbiter_never_moves(tmp_path: Path) -> None:
    async with stage(tmp_path, "HighlyAvailable") as on:
        for name in ("master", "arbiter"):
            await on.pool(name)
        await on.node("a0", "arbiter")
        await on.step("arbiter")
        await on.step("master")
        assert await on.moving() == set()
        assert await on.counts("arbiter") == (1, 0, 0, 0, 0)
        assert on.told["arbiter"].waiting["a0"].reason == "ControlPlane"


async def operator_pod(on: Stage, name: str, node: str) -> None:
    labels = {"k8s-app": "machine-config-operator"}
    body = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }
    await on.client.create(resources.PODS, body, namespace=names.NAMESPACE)


@pytest.fixture
async def masters(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path, "HighlyAvailable") as made:
        await made.client.create(resources.NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
        await made.pool("master")
        for number in range(3):
            await made.node(f"m{number}", "master")
        yield made


async def rolled(on: Stage) -> list[str]:
    order = []
    for _ in range(3):
        await on.step("master")
        (mover,) = await on.moving()
        order.append(mover)
        await on.arrives(mover)
    return order


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        ({}, ["m0", "m1", "m2"]),
        ({"one": "m0"}, ["m1", "m2", "m0"]),
        ({"one": "m0", "two": "m1"}, ["m0", "m1", "m2"]),
        ({"one": "elsewhere"}, ["m0", "m1", "m2"]),
    ],
)
async def test_the_operators_node_goes_last(masters: Stage, pods: dict[str, str], order: list[str]) -> None:
    for name, node in pods.items():
        await operator_pod(masters, name, node)
    assert await rolled(masters) == order
    deferred = [text for _, reason, text in masters.events.all if reason == "DeferringOperatorNodeUpdate"]
    expected = ["Deferring update of machine config operator node m0"] * 2 if order[-1] == "m0" else []
    assert deferred == expected


SCHEDULER_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "schedulers.config.openshift.io"},
    "spec": {
        "group": "config.openshift.io",
        "names": {
            "kind": "Scheduler",
            "listKind": "SchedulerList",
            "plural": "schedulers",
            "singular": "scheduler",
        },
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


async def roles_and_taints(on: Stage) -> tuple[set[str], list[tuple[str, str]]]:
    node = (await on.nodes())["m0"]
    roles = {key for key in node.metadata.labels or {} if key.startswith(names.NODE_ROLE_PREFIX)}
    return roles, [(taint["key"], taint["effect"]) for taint in node.spec.taints or ()]


async def test_masters_follow_the_scheduler(masters: Stage) -> None:
    """Without such an object nothing is touched; one that is deleted counts as one that says no."""
    client = masters.client
    await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, SCHEDULER_KIND)
    controller = MastersController(client, masters.caches.nodes, SystemClock())
    heard = asyncio.Event()
    controller.schedulers.add_handler(lambda *_: heard.set())
    following = asyncio.create_task(controller.follow())

    async def after(change: Awaitable[Any]) -> tuple[set[str], list[tuple[str, str]]]:
        heard.clear()
        await change
        async with asyncio.timeout(20):
            await heard.wait()
        await masters.look()
        assert controller.all() == {"m0", "m1", "m2"}
        await controller.reconcile("m0")
        return await roles_and_taints(masters)

    async with asyncio.timeout(20):
        await controller.schedulers.synced()
    await masters.look()
    await controller.reconcile("m0")
    assert await roles_and_taints(masters) == ({MASTER}, [])
    name, no = {"metadata": {"name": "cluster"}}, [(MASTER, "NoSchedule")]
    assert await after(client.create(resources.SCHEDULERS, name)) == ({MASTER, CONTROL_PLANE}, no)
    yes = {"spec": {"mastersSchedulable": True}}
    answer = await after(client.patch(resources.SCHEDULERS, "cluster", yes))
    assert answer == ({MASTER, CONTROL_PLANE, WORKER}, [])
    assert await after(client.delete(resources.SCHEDULERS, "cluster")) == ({MASTER, CONTROL_PLANE}, no)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
