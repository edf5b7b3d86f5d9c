"""Notices nodes that went silent, where no kubelet and no controller-manager does (design.md 10).

A daemon that registered its own Node renews a Lease every 10 s; 40 s after the last renewal that this process
*saw* (clocks of machines do not matter) the Node's Ready condition becomes Unknown. The daemon sets it back
when it returns.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.core import Node
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.base.errors import Unavailable
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.runtime.clock import Clock, rfc3339

GRACE = 40.0
"""Seconds without a renewal."""


class NodeLifeController:
    """`reconcile` takes a Node's name and comes back when the node's time is up."""

    def __init__(self, client: Client, nodes: Informer[Node], clock: Clock, grace: float = GRACE) -> None:
        self.leases = Informer(client, resources.LEASES, namespace=names.NODE_LEASE_NAMESPACE)
        self._client = client
        self._nodes = nodes
        self._clock = clock
        self._grace = grace
        self._seen: dict[str, tuple[str | None, float]] = {}

    async def reconcile(self, name: str) -> float | None:
        node = self._nodes.store.get(name)
        if node is None:
            self._seen.pop(name, None)
            return None
        lease = self.leases.store.get(f"{names.NODE_LEASE_NAMESPACE}/{name}")
        left = self._grace - self._silent_for(name, lease.spec.renew_time if lease else None)
        if left > 0:
            return left
        if not await self._still_silent(name):
            return self._grace
        ready = cond.find(node.status.conditions, "Ready")
        if ready is not None and ready.status == cond.TRUE:
            await self._client.patch(resources.NODES, name, self._unknown(node), subresource="status")
        return None

    def _silent_for(self, name: str, renewed: str | None) -> float:
        """Seconds since the lease was seen to change."""
        now = self._clock.monotonic()
        if name not in self._seen or self._seen[name][0] != renewed:
            self._seen[name] = (renewed, now)
        return now - self._seen[name][1]

    async def _still_silent(self, name: str) -> bool:
        """Asks the server itself. As long as it does not answer, no node can renew anything: all of them get
        their time again."""
        renewed: str | None = None
        try:
            lease = await self._client.get(resources.LEASES, name, namespace=names.NODE_LEASE_NAMESPACE)
            renewed = lease.spec.renew_time
        except NotFoundError:
            pass
        except Unavailable:
            self._seen[name] = (self._seen[name][0], self._clock.monotonic())
            return False
        return self._silent_for(name, renewed) >= self._grace

    def _unknown(self, node: Node) -> dict[str, Any]:
        new = Condition(
            type="Ready",
            status=cond.UNKNOWN,
            reason="NodeStatusUnknown",
            message="The node stopped renewing its lease.",
        )
        conditions = cond.set_condition(node.status.conditions, new, rfc3339(self._clock.now()))
        return {
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "status": {"conditions": [msgspec.to_builtins(c) for c in conditions]},
        }
