"""Cordon, drain and uncordon at a daemon's request (spec/node.md 4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names, resources
from mco.api.core import Node
from mco.api.crds import definitions
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta import conditions as cond
from mco.apiserver.server import Settings, running
from mco.base.errors import InvalidInput
from mco.controllers.drain import Delays, DrainController
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import from_answer
from mco.kube.events import Recorder
from mco.kube.informer import Informer
from mco.plan import report
from mco.runtime.clock import SystemClock
from tests.controllers.fleet import Fleet, HandClock, Observed
from tests.controllers.stage import Events


async def request(fleet: Fleet, node: str, key: str) -> None:
    body = {"metadata": {"annotations": {names.DESIRED_DRAIN: key}}}
    await fleet.client.patch(resources.NODES, node, body)


def applied(fleet: Fleet, node: str, key: str) -> bool:
    return fleet.annotation(node, names.LAST_APPLIED_DRAIN) == key


def unschedulable(fleet: Fleet, node: str) -> bool:
    found = fleet.nodes.store.get(node)
    return found is not None and found.spec.unschedulable


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}} | metadata,
        "spec": {"nodeName": "w1", "containers": [{"name": "c", "image": "i"}]},
    }


async def test_an_empty_node_is_drained_at_once_and_given_back(fleet: Fleet) -> None:
    await fleet.node("w1", "worker")
    await request(fleet, "w1", "drain-v2")
    await fleet.until(lambda: applied(fleet, "w1", "drain-v2"), "drained")
    assert unschedulable(fleet, "w1")
    await request(fleet, "w1", "uncordon-v2")
    await fleet.until(lambda: applied(fleet, "w1", "uncordon-v2"), "uncordoned")
    assert not unschedulable(fleet, "w1")


async def test_pods_leave_but_those_of_a_daemonset_stay(fleet: Fleet) -> None:
    await fleet.node("w1", "worker")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    await fleet.client.create(resources.PODS, pod("web"), namespace="default")
    await fleet.client.create(resources.PODS, pod("agent", ownerReferences=[owner]), namespace="default")
    await request(fleet, "w1", "drain-v2")
    await fleet.until(lambda: applied(fleet, "w1", "drain-v2"), "drained")
    left = await fleet.client.list(resources.PODS, namespace="default")
    assert [p.name for p in left.items] == ["agent"]


async def test_the_report_tells_cordon_and_drain(fleet: Fleet) -> None:
    await fleet.node("w1", "worker")
    await fleet.reported(1)
    await request(fleet, "w1", "drain-v2")
    await fleet.until(lambda: applied(fleet, "w1", "drain-v2"), "drained")
    await fleet.until(lambda: fleet.reported_condition("w1", "Drained") == "Drained Node w1", "reported")
    found = await fleet.client.get(resources.MACHINE_CONFIG_NODES, "w1")
    states = {c.type: (c.status, c.reason) for c in found.status.conditions}
    assert states["Cordoned"] == ("True", "UpdateExecutedCordoned")
    assert states["Drained"] == ("True", "UpdateExecutedDrained")
    assert states["UpdateExecuted"][0] == "Unknown"


@contextlib.asynccontextmanager
async def followed(client: Client) -> AsyncIterator[tuple[Informer[Node], Informer[MachineConfigNode]]]:
    nodes, reports = Informer(client, resources.NODES), Informer(client, resources.MACHINE_CONFIG_NODES)
    following = [asyncio.create_task(cache.run()) for cache in (nodes, reports)]
    try:
        await nodes.synced()
        await reports.synced()
        yield nodes, reports
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


class _Beside(Client):
    """Just before the first report is written, the daemon writes one of its own."""

    said = False

    async def patch(self, res: Any, name: str, body: Any, **more: Any) -> Any:
        if res is resources.MACHINE_CONFIG_NODES and not self.said:
            self.said = True
            updated = {"type": "Updated", "status": "True", "reason": "Updated", "message": "m"}
            updated["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            versions = {"current": "v2", "desired": "v2"}
            status = {"conditions": [updated], "configVersion": versions, "observedGeneration": 2}
            await super().patch(res, name, {"status": status}, subresource="status")
        return await super().patch(res, name, body, **more)


async def test_a_report_of_the_daemon_is_never_overwritten(tmp_path: Path) -> None:
    async with running(Settings(data_dir=tmp_path)) as api, _Beside(load(api.kubeconfig)) as client:
        for body in definitions():
            await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        annotations = {names.DESIRED_DRAIN: "uncordon-v2", names.CURRENT_CONFIG: "v2"}
        node = {"metadata": {"name": "w1", "annotations": annotations}, "spec": {"unschedulable": True}}
        await client.create(resources.NODES, node)
        spec = {"node": {"name": "w1"}, "pool": {"name": "worker"}, "configVersion": {"desired": "v2"}}
        await client.create(resources.MACHINE_CONFIG_NODES, {"metadata": {"name": "w1"}, "spec": spec})
        async with followed(client) as (nodes, reports):
            events = Recorder(client, "test", "default")
            controller = DrainController(client, nodes, reports, events, SystemClock(), Delays(report=0.0))
            await controller.reconcile("w1")
            await controller.reconcile("w1")
        report = await client.get(resources.MACHINE_CONFIG_NODES, "w1")
        answered = await client.get(resources.NODES, "w1")
    states = {c.type: c.status for c in report.status.conditions}
    assert states == {"Updated": "True"}, "a finished update has taken back all of its conditions"
    assert answered.metadata.annotation(names.LAST_APPLIED_DRAIN) == "uncordon-v2"
    assert not answered.spec.unschedulable


class Refusing(Observed):
    """A server whose budgets let no pod go, until `lenient`."""

    lenient = False

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        if path.endswith("/eviction") and not self.lenient:
            status = {"kind": "Status", "message": "the budget web needs 1 healthy pods", "code": 429}
            raise from_answer(429, msgspec.json.encode(status), {})
        return await super().request(method, path, **more)


class Drain:
    """One node that asks to be drained, with one pod, and its controller alone, on a clock of the test."""

    def __init__(self, client: Refusing, nodes: Informer[Node], reports: Informer[MachineConfigNode]) -> None:
        self.client = client
        self.clock = HandClock()
        self.told = Events()
        self._nodes, self._reports = nodes, reports
        self._controller = DrainController(client, nodes, reports, self.told, self.clock)

    async def look(self) -> float | None:
        return await self._controller.reconcile("w1")

    async def asks(self, key: str) -> None:
        """The daemon does; returns when the cache knows."""
        body = {"metadata": {"annotations": {names.DESIRED_DRAIN: key}}}
        node = await self.client.patch(resources.NODES, "w1", body)
        await _caught_up(self._nodes, node.metadata.resource_version)

    async def said(self) -> None:
        """Returns when the cache has the newest report."""
        live = await self.client.get(resources.MACHINE_CONFIG_NODES, "w1")
        await _caught_up(self._reports, live.metadata.resource_version)

    async def drained(self) -> tuple[str, str]:
        report = await self.client.get(resources.MACHINE_CONFIG_NODES, "w1")
        found = cond.find(report.status.conditions, "Drained")
        assert found is not None
        return found.status, found.message


async def _caught_up(cache: Informer[Any], version: str) -> None:
    reached = asyncio.Event()

    def heard(_: object, new: Any) -> None:
        if new is not None and new.metadata.resource_version == version:
            reached.set()

    cache.add_handler(heard)
    async with asyncio.timeout(60):
        await reached.wait()


@pytest.fixture
async def alone(tmp_path: Path) -> AsyncIterator[Drain]:
    async with running(Settings(data_dir=tmp_path)) as api, Refusing(load(api.kubeconfig)) as client:
        for body in definitions():
            await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        metadata = {"name": "w1", "annotations": {names.DESIRED_DRAIN: "drain-v2"}}
        await client.create(resources.NODES, {"metadata": metadata, "spec": {"unschedulable": True}})
        spec = {"node": {"name": "w1"}, "pool": {"name": "worker"}, "configVersion": {"desired": "v2"}}
        await client.create(resources.MACHINE_CONFIG_NODES, {"metadata": {"name": "w1"}, "spec": spec})
        await client.create(resources.PODS, pod("web", finalizers=["example.com/slow"]), namespace="default")
        async with followed(client) as (nodes, reports):
            yield Drain(client, nodes, reports)


async def test_a_refused_pod_is_named_at_once_and_asked_again_soon(alone: Drain) -> None:
    assert await alone.look() == 5.0
    text = "Draining... pod default/web: the budget web needs 1 healthy pods"
    assert await alone.drained() == ("Unknown", text)
    alone.clock.seconds += 90.0
    assert await alone.look() == 60.0
    alone.client.lenient = True
    alone.clock.seconds += 60.0
    assert await alone.look() == 1.0
    await alone.client.patch(resources.PODS, "web", {"metadata": {"finalizers": None}}, namespace="default")
    assert await alone.look() == 3.0
    alone.clock.seconds += 3.0
    assert await alone.look() is None
    assert await alone.drained() == ("True", "Drained Node w1")
    assert alone.told.reasons() == ["DrainBlocked"]


async def test_pods_that_do_not_end_are_told_and_looked_at_less_often(alone: Drain) -> None:
    alone.client.lenient = True
    began, pauses = alone.clock.seconds, []
    while alone.clock.seconds < began + 4000.0:
        pause = await alone.look() or 0.0
        pauses.append(pause)
        alone.clock.seconds += 90.0 if pause == 1.0 else pause
    assert set(pauses) == {1.0, 60.0, 300.0}
    assert pauses.count(60.0) == 5
    assert set(alone.told.reasons()) == {"DrainThresholdExceeded", "DrainFailed"}
    assert alone.told.reasons().count("DrainFailed") == 1


async def test_an_unknown_verb_is_not_answered(alone: Drain) -> None:
    await alone.asks("evacuate-v2")
    with pytest.raises(InvalidInput, match="unsupported drain verb evacuate"):
        await alone.look()
    node = await alone.client.get(resources.NODES, "w1")
    assert node.metadata.annotation(names.LAST_APPLIED_DRAIN) is None
    assert await alone.client.get(resources.PODS, "web", namespace="default")


async def gone(alone: Drain) -> None:
    """The node's one pod leaves."""
    alone.client.lenient = True
    assert await alone.look() == 1.0
    await alone.client.patch(resources.PODS, "web", {"metadata": {"finalizers": None}}, namespace="default")


async def daemon_says(alone: Drain, *steps: report.Step) -> None:
    found = await alone.client.get(resources.MACHINE_CONFIG_NODES, "w1")
    node = await alone.client.get(resources.NODES, "w1")
    status = report.status_after(found, node, steps, "2026-01-01T00:00:00Z")
    await alone.client.patch(resources.MACHINE_CONFIG_NODES, "w1", {"status": status}, subresource="status")


async def test_what_the_daemon_says_itself_costs_no_write(alone: Drain) -> None:
    """One patch that answers the drain, one that answers the uncordon; the cordon was there before."""
    await gone(alone)
    before = alone.client.requests.copy()
    assert await alone.look() == 3.0
    await daemon_says(alone, *report.drained("w1"))
    await alone.said()
    alone.clock.seconds += 3.0
    assert await alone.look() is None
    await alone.asks("uncordon-v2")
    assert await alone.look() == 3.0
    await daemon_says(alone, report.Step(parent=report.UPDATED, message="Node w1 Updated"))
    await alone.said()
    alone.clock.seconds += 3.0
    assert await alone.look() is None
    requests = alone.client.requests - before
    # Two of the patches of each kind are the daemon's in this test: its request, and its reports.
    assert (requests["PATCH", "nodes"], requests["PATCH", "machineconfignodes/status"]) == (3, 2)


async def test_what_no_daemon_says_is_said_here(alone: Drain) -> None:
    await gone(alone)
    assert await alone.look() == 3.0
    assert await alone.look() == 3.0, "not before its time"
    alone.clock.seconds += 3.0
    assert await alone.look() is None
    assert await alone.drained() == ("True", "Drained Node w1")


async def test_an_update_that_was_executed_by_then_is_not_contradicted(alone: Drain) -> None:
    await gone(alone)
    assert await alone.look() == 3.0
    await daemon_says(alone, report.Step(parent=report.UPDATE_EXECUTED, message="done"))
    await alone.said()
    alone.clock.seconds += 3.0
    await alone.look()
    found = await alone.client.get(resources.MACHINE_CONFIG_NODES, "w1")
    states = {c.type: (c.status, c.message) for c in found.status.conditions}
    assert states["UpdateExecuted"] == ("True", "done")
    assert states["Drained"] == ("True", "Drained Node w1")
