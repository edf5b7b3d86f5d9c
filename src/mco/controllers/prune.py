"""Keeps track of which rendered configs are needed, says so, and removes the others where that is wanted.

`plan.pool.prune` decides. The decision is written where the admission policy that guards configs reads it and
into the pools' status, and, where collection is on, carried out: the oldest first, at a pace, each deletion
tied to the object that was decided on. Nothing is remembered between two passes, so a process that ends in
the middle of one leaves nothing behind.
"""

from __future__ import annotations

import contextlib
from datetime import datetime

import msgspec

from mco.api import names, resources
from mco.api.core import ConfigMap, Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.controllers import needs
from mco.controllers.caches import Caches
from mco.controllers.inuse import InUseWriter
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.informer import Informer
from mco.plan.pool import nodes as state
from mco.plan.pool.prune import Decision, Facts, Limits, decide, expired
from mco.plan.pool.steadytime import SteadyTime
from mco.plan.pool.uses import Users
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.prune")

ALL = "all"
"""The only key: configs of all pools are decided on together."""
_BATCH_SECONDS = 5.0
"""For so long is deleted from one look at the cluster."""
_LOOK_AGAIN = 3600.0
_OVERTAKEN = 0.5
"""Seconds after which the caches should know what somebody else wrote."""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """`enabled` is off as in the original, which collects nothing. `rate`: deletions a second."""

    enabled: bool = False
    limits: Limits = Limits()
    rate: float = 20.0


class PruneController:
    """`reconcile` takes `ALL`; `maps` are the ConfigMaps of our namespace."""

    def __init__(self, client: Client, caches: Caches, clock: Clock, collection: Collection) -> None:
        self.maps: Informer[ConfigMap] = Informer(client, resources.CONFIG_MAPS, namespace=names.NAMESPACE)
        self._client = client
        self._caches = caches
        self._clock = clock
        self._collection = collection
        limits = collection.limits
        self._time = SteadyTime(max(limits.served, limits.grace))
        self._in_use = InUseWriter(client, caches.configs.store, caches.pools.store, self.maps.store)

    async def reconcile(self, _: str) -> float | None:
        """One pass, with so many deletions that what is in use is looked at again soon. Raises what the
        client raises; the next pass begins anew."""
        decision = self._decide(self._cached())
        if not await self._in_use.write(decision):
            return _OVERTAKEN
        if self._collection.enabled:
            await self._forget()
            if decision.unused and await self._collect({config.name for config in decision.unused}):
                return 0.0
        return _LOOK_AGAIN if decision.wake is None else min(_LOOK_AGAIN, decision.wake + 1)

    def _decide(self, facts: Facts) -> Decision:
        return decide(facts, self._collection.limits, self._now())

    def _now(self) -> datetime:
        """By the API server's clock, which stamped what is judged. Ours may be wrong from the start."""
        return self._time.now(self._client.server_time or self._clock.now(), self._clock.monotonic())

    def _marks(self) -> ConfigMap | None:
        return self.maps.store.get(f"{names.NAMESPACE}/{names.SERVED_MAP}")

    def _cached(self) -> Facts:
        caches, marks = self._caches, self._marks()
        users = Users(
            pools=caches.pools.store.values(),
            nodes=caches.nodes.store.values(),
            reports=caches.reports.store.values(),
        )
        served = marks.data or {} if marks else {}
        return Facts(configs=caches.configs.store.values(), users=users, served=served)

    async def _collect(self, candidates: set[str]) -> bool:
        """Removes those of `candidates` that a look past the caches finds unused, too; whether there were
        any."""
        configs = self._caches.configs.store.values()
        found = self._decide(
            Facts(
                configs=configs,
                users=await needs.users(self._client),
                served=await needs.served(self._client),
            )
        )
        unused = [config for config in found.unused if config.name in candidates]
        batch = unused[: max(1, int(self._collection.rate * _BATCH_SECONDS))]
        for config in batch:
            await self._remove(config)
        if batch:
            _log.info("rendered configs that nobody needs are removed", count=len(batch))
        return bool(batch)

    async def _remove(self, config: MachineConfig) -> None:
        """The preconditions let a config live that was pinned, or created anew, after the decision."""
        began = self._clock.monotonic()
        metadata = config.metadata
        try:
            await self._client.delete(
                resources.MACHINE_CONFIGS,
                config.name,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
        except NotFoundError:
            return
        except ConflictError as error:
            _log.info("a rendered config changed and stays", config=config.name, error=str(error))
        took = self._clock.monotonic() - began
        await self._clock.sleep(max(0.0, 1 / self._collection.rate - took))

    async def _forget(self) -> None:
        """Drops the expired marks of configs that are gone, unless the config server has written since."""
        marks = self._marks()
        if marks is None:
            return
        old = expired(marks.data or {}, self._collection.limits, self._now())
        gone = [name for name in old if name not in self._caches.configs.store]
        if not gone:
            return
        body = {
            "metadata": {"resourceVersion": marks.metadata.resource_version},
            "data": dict.fromkeys(gone),
        }
        with contextlib.suppress(ConflictError):
            await self._client.patch(resources.CONFIG_MAPS, names.SERVED_MAP, body, namespace=names.NAMESPACE)


def concerns(old: Object | None, new: Object | None) -> bool:
    """Whether a change of a pool, node, report, config or ConfigMap may change what is needed."""
    return old is None or new is None or _facts(old) != _facts(new)


def _facts(obj: Object) -> object:
    match obj:
        case MachineConfigPool():
            return obj.spec.configuration.name, obj.status.configuration.name
        case Node():
            return state.current(obj), state.desired(obj)
        case MachineConfigNode():
            return obj.spec.config_version, obj.status.config_version
        case ConfigMap():
            return obj.data if obj.name in (names.IN_USE_MAP, names.SERVED_MAP) else None
        case _:
            return obj.metadata.annotations, obj.metadata.labels, obj.metadata.owner_references
