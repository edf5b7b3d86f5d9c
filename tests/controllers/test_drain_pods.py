"""Which pods leave a node, who may forbid it, and how many nodes are emptied at once (spec/node.md 4).

On the embedded API server, and on a real kube-apiserver whose controller-manager keeps the budgets."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names, resources
from mco.api.core import Node
from mco.apiserver.server import Settings, running
from mco.controllers.drain import PLACES, DrainController
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from tests.controllers.fleet import HandClock
from tests.controllers.stage import Events
from tests.servers.real import RealServer

_numbers = itertools.count()
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


class Site:
    """A namespace and nodes of its own on a server, and a drain controller that looks when it is told to."""

    def __init__(self, client: Client, *, real: bool) -> None:
        self.client = client
        self.real = real
        self.name = f"drain{next(_numbers)}"
        self.clock = HandClock()
        self.events = Events()
        self._nodes: Informer[Node] = Informer(client, resources.NODES)
        reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self.controller = DrainController(client, self._nodes, reports, self.events, self.clock)

    def node_name(self, number: int = 0) -> str:
        return f"{self.name}-{number}"

    async def node(self, number: int = 0) -> str:
        """A node whose daemon asks for a drain."""
        name = self.node_name(number)
        asks = {names.DESIRED_DRAIN: "drain-v2"}
        await self.client.create(resources.NODES, {"metadata": {"name": name, "annotations": asks}})
        return name

    async def pod(self, name: str, number: int = 0, **more: Any) -> None:
        """A running, ready pod on a node; `more` goes into its metadata, but for `volumes` and `status`."""
        status = more.pop("status", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
        spec = {
            "nodeName": self.node_name(number),
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
            "volumes": more.pop("volumes", []),
        }
        metadata = {"name": name, "namespace": self.name, "labels": {"app": "web"}} | more
        body = {"metadata": metadata, "spec": spec}
        await self.client.create(resources.PODS, body, namespace=self.name)
        await self.client.patch(
            resources.PODS, name, {"status": status}, namespace=self.name, subresource="status"
        )

    async def budget(self, name: str, **spec: Any) -> None:
        """Of all pods with the label app=web; returns when it knows that there are two."""
        selector = {"selector": {"matchLabels": {"app": "web"}}}
        budgets = resources.POD_DISRUPTION_BUDGETS
        body = {"metadata": {"name": name}, "spec": selector | spec}
        await self.client.create(budgets, body, namespace=self.name)
        async with asyncio.timeout(90):
            while True:
                raw = await self.client.request("GET", budgets.path(name, namespace=self.name))
                if msgspec.json.decode(raw).get("status", {}).get("currentHealthy") == 2:
                    return

    async def look(self, number: int = 0) -> float | None:
        for node in (await self.client.list(resources.NODES)).items:
            self._nodes.store.put(node)
        return await self.controller.reconcile(self.node_name(number))

    async def until_empty(self, number: int = 0) -> None:
        async with asyncio.timeout(90):
            while await self.applied(number) != "drain-v2":
                await self.look(number)

    async def applied(self, number: int = 0) -> str | None:
        node = await self.client.get(resources.NODES, self.node_name(number))
        return node.metadata.annotation(names.LAST_APPLIED_DRAIN)

    async def cordoned(self, number: int) -> bool:
        return (await self.client.get(resources.NODES, self.node_name(number))).spec.unschedulable

    async def pods(self) -> set[str]:
        return {pod.name for pod in (await self.client.list(resources.PODS, namespace=self.name)).items}


@contextlib.asynccontextmanager
async def site(kubeconfig: Path, *, real: bool) -> AsyncIterator[Site]:
    async with Client(load(kubeconfig)) as client:
        made = Site(client, real=real)
        await client.create(resources.NAMESPACES, {"metadata": {"name": made.name}})
        try:
            yield made
        finally:
            for node in (await client.list(resources.NODES)).items:
                if node.name.startswith(made.name):
                    await client.delete(resources.NODES, node.name)
            await client.delete(resources.NAMESPACES, made.name)


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Site]:
    async with running(Settings(data_dir=tmp_path)) as api, site(api.kubeconfig, real=False) as made:
        yield made


@pytest.fixture
async def real(real_apiserver: RealServer) -> AsyncIterator[Site]:
    real_apiserver.start_controllers()
    async with site(real_apiserver.kubeconfig, real=True) as made:
        yield made


@pytest.fixture(params=["embedded", "real"])
def on(request: pytest.FixtureRequest) -> Site:
    found: Site = request.getfixturevalue(request.param)
    return found


async def test_a_refusal_names_pod_budget_and_what_it_allows_at_once(on: Site) -> None:
    await on.node()
    for name in ("one", "two"):
        await on.pod(name)
    await on.budget("web", minAvailable=2)
    assert await on.look() == 5.0
    ((subject, reason, text),) = on.events.all
    assert (subject, reason) == (f"Node/{on.node_name()}", "DrainBlocked")
    needs = "The disruption budget web needs 2 healthy pods and has 2 currently"
    for name in ("one", "two"):
        assert f"pod {on.name}/{name}: budget web allows 0 disruptions: {VIOLATED} {needs}" in text
    assert await on.look() == 5.0
    assert on.events.reasons() == ["DrainBlocked"], "the same refusal again is no news"
    assert (await on.cordoned(0), await on.applied()) == (True, None)
    await on.client.delete(resources.POD_DISRUPTION_BUDGETS, "web", namespace=on.name)
    await on.until_empty()
    assert await on.pods() == set()


async def test_a_budget_lets_one_pod_go_after_the_other(on: Site) -> None:
    await on.node()
    for name in ("one", "two"):
        await on.pod(name)
    await on.budget("web", minAvailable=1)
    assert await on.look() == 5.0
    ((_, _, text),) = on.events.all
    assert text.count("budget web allows") == 1
    (left,) = await on.pods()
    assert f"pod {on.name}/{left}: budget web allows 0 disruptions" in text


async def test_pods_without_an_owner_and_with_scratch_space_go_and_mirrors_stay(on: Site) -> None:
    await on.node()
    await on.pod("bare")
    await on.pod("scratch", volumes=[{"name": "tmp", "emptyDir": {}}])
    await on.pod("done", status={"phase": "Succeeded"})
    await on.pod("static", annotations={"kubernetes.io/config.mirror": "x"})
    await on.until_empty()
    assert await on.pods() == {"static"}


def owned(uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": uid, "controller": True}]


async def test_a_pod_of_a_daemonset_stays_as_long_as_there_is_one(real: Site) -> None:
    await real.node()
    labels = {"app": "agent"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    made = await real.client.create(resources.DAEMON_SETS, body, namespace=real.name)
    await real.pod("agent", ownerReferences=owned(made.metadata.uid))
    await real.pod("finished", ownerReferences=owned(made.metadata.uid), status={"phase": "Failed"})
    await real.until_empty()
    assert await real.pods() == {"agent"}
    await real.client.delete(resources.DAEMON_SETS, "agent", namespace=real.name, propagation="Orphan")
    async with asyncio.timeout(90):
        with contextlib.suppress(NotFoundError):
            while True:
                await real.client.get(resources.DAEMON_SETS, "agent", namespace=real.name)
    await real.pod("orphan", ownerReferences=owned(made.metadata.uid))
    again = {"metadata": {"annotations": {names.DESIRED_DRAIN: "drain-v2", names.LAST_APPLIED_DRAIN: None}}}
    await real.client.patch(resources.NODES, real.node_name(), again)
    await real.until_empty()
    assert "orphan" not in await real.pods()


async def test_five_nodes_are_emptied_at_once_and_the_sixth_is_not_even_cordoned(embedded: Site) -> None:
    for number in range(PLACES + 1):
        await embedded.node(number)
        await embedded.pod(f"p{number}", number, finalizers=["example.com/slow"])
    assert {await embedded.look(number) for number in range(PLACES + 1)} == {1.0}
    assert [await embedded.cordoned(number) for number in range(PLACES + 1)] == [True] * PLACES + [False]
    no_more = {"metadata": {"finalizers": None}}
    await embedded.client.patch(resources.PODS, "p0", no_more, namespace=embedded.name)
    await embedded.until_empty(0)
    assert await embedded.look(PLACES) == 1.0
    assert await embedded.cordoned(PLACES)


async def test_a_node_whose_pods_may_not_go_leaves_its_place(embedded: Site) -> None:
    for number in range(PLACES + 1):
        await embedded.node(number)
    for number in range(2):
        await embedded.pod(f"p{number}", number)
    await embedded.budget("web", minAvailable=2)
    for number in range(2, PLACES + 1):
        await embedded.pod(f"p{number}", number, labels={}, finalizers=["example.com/slow"])
    assert [await embedded.look(number) for number in range(PLACES + 1)] == [5.0, 5.0, 1.0, 1.0, 1.0, 1.0]
    assert await embedded.cordoned(PLACES)


async def test_a_node_that_somebody_gave_back_in_between_is_cordoned_again(embedded: Site) -> None:
    name = await embedded.node()
    await embedded.pod("p", finalizers=["example.com/slow"])
    await embedded.look()
    await embedded.client.patch(resources.NODES, name, {"spec": {"unschedulable": None}})
    assert await embedded.look() == 1.0
    assert await embedded.cordoned(0)


async def test_a_request_that_is_withdrawn_is_forgotten(embedded: Site) -> None:
    name = await embedded.node()
    await embedded.pod("p", finalizers=["example.com/slow"])
    await embedded.look()
    await embedded.client.patch(
        resources.NODES, name, {"metadata": {"annotations": {names.DESIRED_DRAIN: None}}}
    )
    assert await embedded.look() is None
    assert await embedded.applied() is None


async def test_after_an_hour_the_node_is_among_the_failing_until_it_is_empty(embedded: Site) -> None:
    name = await embedded.node()
    await embedded.pod("p", finalizers=["example.com/slow"])
    began = embedded.clock.seconds
    while embedded.clock.seconds < began + 3600.0 and not embedded.controller.failing:
        pause = await embedded.look() or 0.0
        embedded.clock.seconds += 90.0 if pause == 1.0 else pause
    assert embedded.controller.failing == set()
    embedded.clock.seconds += 400.0
    while not embedded.controller.failing:
        pause = await embedded.look() or 0.0
        embedded.clock.seconds += 90.0 if pause == 1.0 else pause
    assert embedded.controller.failing == {name}
    text = next(text for _, reason, text in embedded.events.all if reason == "DrainFailed")
    assert text == f"failed to drain node {name}: pods do not end: {embedded.name}/p"
    no_more = {"metadata": {"finalizers": None}}
    await embedded.client.patch(resources.PODS, "p", no_more, namespace=embedded.name)
    await embedded.until_empty()
    assert embedded.controller.failing == set()
