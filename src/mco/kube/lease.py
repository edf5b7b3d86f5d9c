"""The heartbeat of a node: a Lease that says it was alive a moment ago (the kubelet's way).

Whoever judges nodes looks at `renewTime`; a renewal is one small patch, whatever the Node object weighs.
"""

from __future__ import annotations

from mco.api import names
from mco.api.core import Lease
from mco.api.meta.objects import OwnerReference
from mco.api.resources import LEASES
from mco.base.errors import MCOError
from mco.kube.backoff import Backoff
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError, describe
from mco.runtime.clock import Clock, SystemClock, rfc3339_micro
from mco.runtime.logging import Logger

NODE_LEASES = names.NODE_LEASE_NAMESPACE
DURATION = 40
INTERVAL = 10.0

_log = Logger("mco.kube.lease")


class NodeLease:
    """Renews `kube-node-lease/<node>`. `owner` is the Node, so that the Lease goes when the Node goes."""

    def __init__(
        self,
        client: Client,
        node: str,
        *,
        owner: OwnerReference | None = None,
        clock: Clock | None = None,
        interval: float = INTERVAL,
        duration: int = DURATION,
    ) -> None:
        self._client = client
        self._node = node
        self._owner = owner
        self._clock = clock or SystemClock()
        self._interval = interval
        self._duration = duration
        self._backoff = Backoff(first=0.2, longest=7.0)

    async def renew(self) -> Lease:
        """One renewal, creating the Lease when it is not there. Raises what the client raises."""
        spec = {
            "holderIdentity": self._node,
            "leaseDurationSeconds": self._duration,
            "renewTime": rfc3339_micro(self._clock.now()),
        }
        try:
            return await self._client.patch(LEASES, self._node, {"spec": spec}, namespace=NODE_LEASES)
        except NotFoundError:
            return await self._create(spec)

    async def run(self) -> None:
        """Renew every `interval` seconds until cancelled; after a failure sooner."""
        while True:
            try:
                await self.renew()
            except MCOError as error:
                wait = min(self._backoff.next(), self._interval)
                _log.warning("node lease not renewed", again_in=round(wait, 2), **describe(error))
            else:
                self._backoff.reset()
                wait = self._interval
            await self._clock.sleep(wait)

    async def _create(self, spec: dict[str, object]) -> Lease:
        metadata: dict[str, object] = {"name": self._node, "namespace": NODE_LEASES}
        if self._owner is not None:
            owner = self._owner
            metadata["ownerReferences"] = [
                {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
            ]
        body = {"metadata": metadata, "spec": spec}
        try:
            return await self._client.create(LEASES, body, namespace=NODE_LEASES)
        except AlreadyExists:
            return await self._client.patch(LEASES, self._node, {"spec": spec}, namespace=NODE_LEASES)
