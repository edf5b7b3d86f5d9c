"""A node that stops renewing its lease is noticed (design.md 10, nodes without a kubelet)."""

from __future__ import annotations

import asyncio
from typing import Any

from mco.api import names, resources
from mco.api.meta import conditions as cond
from mco.controllers.nodelife import GRACE, NodeLifeController
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import Unreachable
from tests.controllers.fleet import Fleet, HandClock


def lease(renewed: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "w1", "namespace": names.NODE_LEASE_NAMESPACE},
        "spec": {"holderIdentity": "w1", "leaseDurationSeconds": 40, "renewTime": renewed},
    }


def ready(fleet: Fleet) -> str:
    node = fleet.nodes.store.get("w1")
    found = cond.find(node.status.conditions, "Ready") if node else None
    return found.status if found else ""


async def test_silence_makes_a_node_unknown_and_a_renewal_keeps_it(fleet: Fleet) -> None:
    clock = HandClock()
    controller = NodeLifeController(fleet.client, fleet.nodes, clock)
    leases = asyncio.create_task(controller.leases.run())
    try:
        await fleet.node("w1", "worker")
        await fleet.until(lambda: ready(fleet) == "True", "Ready")
        await fleet.client.create(
            resources.LEASES, lease("2026-01-01T00:00:00.000000Z"), namespace=names.NODE_LEASE_NAMESPACE
        )
        await seen(controller, "2026-01-01T00:00:00.000000Z")
        assert await controller.reconcile("w1") == GRACE
        clock.seconds += GRACE - 1
        assert await controller.reconcile("w1") == 1.0
        # A renewal by a machine whose clock is years behind counts all the same.
        body = {"spec": {"renewTime": "2001-01-01T00:00:00.000000Z"}}
        await fleet.client.patch(resources.LEASES, "w1", body, namespace=names.NODE_LEASE_NAMESPACE)
        await seen(controller, "2001-01-01T00:00:00.000000Z")
        assert await controller.reconcile("w1") == GRACE
        assert ready(fleet) == "True"
        clock.seconds += GRACE
        assert await controller.reconcile("w1") is None
        await fleet.until(lambda: ready(fleet) == "Unknown", "Unknown")
        node = fleet.nodes.store.get("w1")
        found = cond.find(node.status.conditions, "Ready") if node else None
        assert found is not None
        assert found.reason == "NodeStatusUnknown"
    finally:
        leases.cancel()
        await asyncio.gather(leases, return_exceptions=True)


async def seen(controller: NodeLifeController, renewed: str) -> None:
    """Waits until the controller's cache has the renewal."""
    arrived = asyncio.Event()

    def look(*_: object) -> None:
        found = controller.leases.store.get(f"{names.NODE_LEASE_NAMESPACE}/w1")
        if found is not None and found.spec.renew_time == renewed:
            arrived.set()

    controller.leases.add_handler(look)
    await asyncio.wait_for(arrived.wait(), 10)


class _Away(Client):
    """A server that does not answer."""

    async def get(self, res: Any, name: str, **more: Any) -> Any:
        raise Unreachable("no answer")


async def test_nobody_is_blamed_while_the_server_is_away(fleet: Fleet) -> None:
    """No node can renew its lease then; all of them have their time again when it is back."""
    clock = HandClock()
    await fleet.node("w1", "worker")
    await fleet.until(lambda: ready(fleet) == "True", "Ready")
    async with _Away(load(fleet.folder / "kubeconfig")) as away:
        controller = NodeLifeController(away, fleet.nodes, clock)
        assert await controller.reconcile("w1") == GRACE
        clock.seconds += 3 * GRACE
        assert await controller.reconcile("w1") == GRACE
        clock.seconds += GRACE - 1
        assert await controller.reconcile("w1") == 1.0
    assert ready(fleet) == "True"
