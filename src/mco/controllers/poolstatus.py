"""Writes a pool's status, when it says something else than before (spec/node.md 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mco.api import names, resources
from mco.api.machineconfigpool import MachineConfigPool
from mco.controllers.caches import Caches
from mco.kube.client import Client
from mco.kube.events import EventSink
from mco.plan.pool import status
from mco.plan.pool.nodes import Standing
from mco.runtime.clock import Clock, rfc3339


class StatusWriter:
    def __init__(self, client: Client, caches: Caches, events: EventSink, clock: Clock) -> None:
        self._client = client
        self._caches = caches
        self._events = events
        self._clock = clock

    async def write(self, pool: MachineConfigPool, members: Sequence[Standing]) -> None:
        """Counts the members as they are after a pass."""
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            # Its arrival brings every pool here again.
            return
        certificates = controller.status.controller_certificates
        reports = self._caches.reports.store
        new = status.status(pool, members, reports, certificates, rfc3339(self._clock.now()))
        if new == pool.status:
            return
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": pool.metadata.resource_version},
            "status": status.as_patch(new),
        }
        await self._client.patch(resources.MACHINE_CONFIG_POOLS, pool.name, body, subresource="status")
        if new.configuration.name != pool.status.configuration.name:
            text = f"Pool {pool.name} has completed update to MachineConfig {new.configuration.name}"
            self._events.event(pool, "Normal", "Completed", text)
