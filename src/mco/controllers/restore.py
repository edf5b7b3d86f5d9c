"""Brings rendered configs back that were deleted or edited while somebody needs them.

That is done at once, not after the quiet time that inputs get: a pool is rendered as its inputs are, and when
that gives the name that is missing, the object is made with the same bytes.
"""

from __future__ import annotations

from mco.api.machineconfig import MachineConfig
from mco.controllers.caches import Caches
from mco.controllers.render import RenderController
from mco.kube.events import EventSink
from mco.plan.pool.prune import pool_of
from mco.plan.pool.uses import Users, users_text, uses
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.restore")


class RestoreController:
    """`reconcile` takes the name of a rendered config; `affected` says which ones an event concerns."""

    def __init__(self, caches: Caches, render: RenderController, events: EventSink) -> None:
        self._caches = caches
        self._render = render
        self._events = events
        self._pools: dict[str, str] = {}

    def affected(self, old: MachineConfig | None, new: MachineConfig | None) -> set[str]:
        """Rendered configs that changed or are gone."""
        if old is None or not pool_of(old):
            return set()
        if new is None:
            self._pools[old.name] = pool_of(old)
        return {old.name}

    async def reconcile(self, name: str) -> float | None:
        found = self._caches.configs.store.get(name)
        pool = self._caches.pools.store.get(self._pools.pop(name, "") if found is None else pool_of(found))
        needed = uses(self._users()).get(name)
        if pool is None or pool.metadata.deletion_timestamp or needed is None:
            return None
        if await self._render.restore(pool, name):
            return None
        if found is None:
            text = f"{name} is gone, needed by {users_text(needed)}, and its MachineConfigs have changed"
            self._events.event(pool, "Warning", "RenderedConfigLost", text)
            _log.error("a rendered config that is needed is gone", config=name, pool=pool.name)
        return None

    def _users(self) -> Users:
        caches = self._caches
        return Users(
            pools=caches.pools.store.values(),
            nodes=caches.nodes.store.values(),
            reports=caches.reports.store.values(),
        )
