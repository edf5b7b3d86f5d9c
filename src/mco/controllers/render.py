"""Renders a pool's MachineConfigs into the one that its nodes shall have (spec/render.md 1)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import machineconfigpool as mcp
from mco.api import names, resources
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.meta.selectors import selector
from mco.base.errors import InvalidInput, RenderError
from mco.controllers.caches import Caches
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.kube.events import Recorder
from mco.plan.pool import gates
from mco.plan.pool.reconcile import check
from mco.render.checks import Versions
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.selection import SelectingAll
from mco.render.sources import Sources
from mco.runtime.clock import Clock, rfc3339


class RenderController:
    """`reconcile` takes a pool's name; `affected` says which pools an event of a MachineConfig concerns."""

    def __init__(
        self, client: Client, caches: Caches, recorder: Recorder, clock: Clock, versions: Versions
    ) -> None:
        self._client = client
        self._caches = caches
        self._recorder = recorder
        self._clock = clock
        self._versions = versions
        self._sources = Sources()

    def affected(self, old: MachineConfig | None, new: MachineConfig | None) -> set[str]:
        """Nothing for a change of labels and annotations alone that keeps the selection; the owning pool of a
        rendered config; every pool that selects the config, before or after."""
        if old is not None and new is not None and _same_input(old, new):
            return set()
        pools: set[str] = set()
        for config in (old, new):
            owner = config.metadata.controller() if config else None
            if owner is not None and owner.kind == "MachineConfigPool":
                pools.add(owner.name)
            elif config is not None:
                pools.update(p.name for p in self._caches.pools.store.values() if _selects(p, config))
        return pools

    async def reconcile(self, name: str) -> float | None:
        """Renders pool `name` and points it there; RenderDegraded says why when it cannot be rendered."""
        pool = self._caches.pools.store.get(name)
        if pool is None or pool.metadata.deletion_timestamp:
            return None
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            # Its arrival is an event that brings every pool here again.
            return None
        gates.require_completed(controller)
        try:
            configs = self._caches.configs.store.values()
            rendered = render(pool, configs, controller, self._versions, sources=self._sources)
            await self._check_reachable(pool, rendered)
            if rendered.too_large:
                raise rendered.too_large
        except SelectingAll as error:
            self._recorder.event(pool, "Warning", "SelectingAll", error.message)
            return None
        except InvalidInput as error:
            await self._degraded(pool, f"Failed to render configuration for pool {name}: {error.message}")
            raise
        await self._create(pool, rendered)
        await self._target(pool, rendered)
        await self._degraded(pool, "")
        return None

    async def _check_reachable(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        """Refuses a config that no running node could follow, before any node is told."""
        target = pool.spec.configuration.name
        if not target or target == rendered.name:
            return
        try:
            current = await self._client.get(resources.MACHINE_CONFIGS, target)
        except NotFoundError:
            return
        body = msgspec.json.encode(rendered.machine_config)
        new = msgspec.json.decode(body, type=MachineConfig)
        try:
            check(current, new, rendered.inputs)
        except RenderError as error:
            error.message = f"could not generate rendered MachineConfig: {error.message}"
            raise

    async def _create(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        if rendered.name in self._caches.configs.store:
            return
        try:
            await self._client.create(resources.MACHINE_CONFIGS, rendered.machine_config)
        except AlreadyExists:
            return
        annotations = rendered.machine_config["metadata"]["annotations"]
        release = annotations.get(names.RELEASE_IMAGE_VERSION, "")
        by = annotations[names.GENERATED_BY_CONTROLLER_VERSION]
        text = (
            f"{rendered.name} successfully generated (release version: {release}, controller version: {by})"
        )
        self._recorder.event(pool, "Normal", "RenderedConfigGenerated", text)

    async def _target(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        """Points the pool at the config, with what it was made of in merge order."""
        source = [
            {"apiVersion": names.API_VERSION, "kind": "MachineConfig", "name": name}
            for name in rendered.source
        ]
        have = pool.spec.configuration
        if have.name == rendered.name and [s.name for s in have.source or ()] == list(rendered.source):
            return
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": pool.metadata.resource_version},
            "spec": {"configuration": {"name": rendered.name, "source": source}},
        }
        await self._client.patch(resources.MACHINE_CONFIG_POOLS, pool.name, body)

    async def _degraded(self, pool: MachineConfigPool, message: str) -> None:
        """Writes RenderDegraded when it does not say this already."""
        status = cond.TRUE if message else cond.FALSE
        old = cond.find(pool.status.conditions, mcp.RENDER_DEGRADED)
        if old and (old.status, old.message) == (status, message):
            return
        live = await self._client.get(resources.MACHINE_CONFIG_POOLS, pool.name)
        new = Condition(type=mcp.RENDER_DEGRADED, status=status, message=message)
        conditions = cond.set_condition(live.status.conditions, new, rfc3339(self._clock.now()))
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": live.metadata.resource_version},
            "status": {"conditions": [msgspec.to_builtins(condition) for condition in conditions]},
        }
        await self._client.patch(resources.MACHINE_CONFIG_POOLS, pool.name, body, subresource="status")


def _selects(pool: MachineConfigPool, config: MachineConfig) -> bool:
    source = pool.spec.machine_config_selector
    if source is None or source.empty:
        return False
    try:
        return selector(source).matches(config.metadata.labels)
    except InvalidInput:
        return False


def _same_input(old: MachineConfig, new: MachineConfig) -> bool:
    return old.spec == new.spec and (old.metadata.labels or {}) == (new.metadata.labels or {})
