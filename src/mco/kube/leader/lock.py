"""One Lease as a lock: read it, take it, renew it, give it up.

Every write carries the resourceVersion that it was decided on, so of two candidates one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mco.api import names
from mco.api.core import Lease
from mco.api.resources import LEASES, NAMESPACES
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.leader.holder import Holder
from mco.runtime.clock import Clock, rfc3339_micro


class Lock:
    """The Lease `namespace/name`. Methods raise what the client raises."""

    def __init__(self, client: Client, namespace: str, name: str, clock: Clock) -> None:
        self.namespace = namespace
        self.name = name
        self._client = client
        self._clock = clock

    async def read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self.name, namespace=self.namespace)
        except NotFoundError:
            return None

    async def create(self, holder: Holder, seconds: int) -> Lease:
        """In a cluster where nothing is installed yet, the namespace too."""
        body = {
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "annotations": holder.annotation(),
            },
            "spec": self._first(holder, seconds) | {"leaseTransitions": 0},
        }
        try:
            return await self._client.create(LEASES, body, namespace=self.namespace)
        except NotFoundError:
            await self._client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        return await self._client.create(LEASES, body, namespace=self.namespace)

    async def take(self, lease: Lease, holder: Holder, seconds: int) -> Lease:
        transitions = (lease.spec.lease_transitions or 0) + 1
        spec = self._first(holder, seconds) | {"leaseTransitions": transitions}
        return await self._write(lease, spec, holder.annotation())

    async def renew(self, lease: Lease, seconds: int) -> Lease:
        return await self._write(lease, {"renewTime": self._now(), "leaseDurationSeconds": seconds}, {})

    async def release(self, lease: Lease) -> Lease:
        """Nobody holds it any more; a candidate that only reads times may take it after a second."""
        now = self._now()
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}
        return await self._write(lease, spec, {names.LEASE_HOLDER: None})

    def _first(self, holder: Holder, seconds: int) -> dict[str, Any]:
        now = self._now()
        return {
            "holderIdentity": holder.identity,
            "leaseDurationSeconds": seconds,
            "acquireTime": now,
            "renewTime": now,
        }

    async def _write(
        self, lease: Lease, spec: Mapping[str, Any], annotations: Mapping[str, str | None]
    ) -> Lease:
        metadata: dict[str, Any] = {"resourceVersion": lease.metadata.resource_version}
        if annotations:
            metadata["annotations"] = annotations
        body = {"metadata": metadata, "spec": spec}
        return await self._client.patch(LEASES, self.name, body, namespace=self.namespace)

    def _now(self) -> str:
        return rfc3339_micro(self._clock.now())
