"""Writes which rendered configs are in use: for the policy that guards them, and into the pools' status."""

from __future__ import annotations

import contextlib
from typing import Any

from mco.api import names, resources
from mco.api.core import ConfigMap
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, ConflictError, NotFoundError
from mco.kube.store import Store
from mco.plan.pool.prune import Decision, pool_of
from mco.plan.pool.uses import in_use, users_text

Active = list[dict[str, Any]]


class InUseWriter:
    """Writes only what differs: from the cached ConfigMap, and from what it wrote into a pool last. (A pool's
    cache has no such field, and a cluster with the original's schema drops it.)"""

    def __init__(
        self,
        client: Client,
        configs: Store[MachineConfig],
        pools: Store[MachineConfigPool],
        maps: Store[ConfigMap],
    ) -> None:
        self._client = client
        self._configs = configs
        self._pools = pools
        self._maps = maps
        self._written: dict[str, Active] = {}

    async def write(self, decision: Decision) -> bool:
        """Whether all of it is written; else the caches are behind, and it has to be decided again."""
        try:
            await self._mark(decision)
            await self._publish(decision)
        except ConflictError:
            return False
        return True

    async def _mark(self, decision: Decision) -> None:
        wanted: dict[str, str | None] = {
            name: users_text(reasons)
            for name, reasons in decision.reasons.items()
            if in_use(reasons) and name in self._configs
        }
        known = self._maps.get(f"{names.NAMESPACE}/{names.IN_USE_MAP}")
        if known is None:
            await self._create(wanted)
            return
        have = known.data or {}
        changes = {name: text for name, text in wanted.items() if have.get(name) != text}
        changes |= dict.fromkeys(have.keys() - wanted.keys())
        if changes:
            body = {"metadata": {"resourceVersion": known.metadata.resource_version}, "data": changes}
            await self._client.patch(resources.CONFIG_MAPS, names.IN_USE_MAP, body, namespace=names.NAMESPACE)

    async def _create(self, data: dict[str, str | None]) -> None:
        body = {"metadata": {"name": names.IN_USE_MAP}, "data": data}
        # One that the cache has not heard of yet brings another pass when it has.
        with contextlib.suppress(AlreadyExists):
            await self._client.create(resources.CONFIG_MAPS, body, namespace=names.NAMESPACE)

    async def _publish(self, decision: Decision) -> None:
        active = self._active(decision)
        for pool in list(self._pools.values()):
            wanted = active.get(pool.name, [])
            if self._written.get(pool.name) == wanted:
                continue
            body = {
                "metadata": {"resourceVersion": pool.metadata.resource_version},
                "status": {"activeConfigurations": wanted},
            }
            try:
                await self._client.patch(
                    resources.MACHINE_CONFIG_POOLS, pool.name, body, subresource="status"
                )
            except NotFoundError:
                continue
            self._written[pool.name] = wanted
        for gone in self._written.keys() - set(self._pools):
            del self._written[gone]

    def _active(self, decision: Decision) -> dict[str, Active]:
        active: dict[str, Active] = {}
        for name in sorted(decision.reasons):
            config, reasons = self._configs.get(name), decision.reasons[name]
            if config is not None and in_use(reasons):
                entry = {"name": name, "reasons": [why.value for why in reasons]}
                active.setdefault(pool_of(config), []).append(entry)
        return active
