"""Renders a pool's MachineConfigs into the one that its nodes shall have (spec/render.md 1)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import machineconfigpool as mcp
from mco.api import names, resources
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.meta.selectors import selector
from mco.base.errors import InvalidInput, MCOError, RenderError
from mco.controllers.caches import Caches
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, Forbidden, NotFoundError
from mco.kube.events import EventSink
from mco.kube.requests import PatchKind
from mco.plan.pool import gates
from mco.plan.pool.reconcile import check
from mco.plan.pool.repair import is_edit, repair
from mco.render.checks import Versions
from mco.render.copies import is_intact
from mco.render.describe import made_by, metadata
from mco.render.pool import render
from mco.render.rendered import Rendered
from mco.render.selection import SelectingAll
from mco.render.sources import Sources
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.render")


class RenderController:
    """`reconcile` takes a pool's name; `affected` says which pools an event of a MachineConfig concerns."""

    def __init__(
        self, client: Client, caches: Caches, events: EventSink, clock: Clock, versions: Versions
    ) -> None:
        self._client = client
        self._caches = caches
        self._events = events
        self._clock = clock
        self._versions = versions
        self._sources = Sources()
        self._intact: dict[str, tuple[str, str]] = {}

    def affected(self, old: MachineConfig | None, new: MachineConfig | None) -> set[str]:
        """The owning pool of a rendered config, whatever changed; every pool that selects a config, before or
        after, unless only its annotations changed."""
        pools: set[str] = set()
        for config in filter(None, (old, new)):
            if owner := self._owner(config):
                pools.add(owner.name)
            elif old is None or new is None or not _same_input(old, new):
                pools.update(p.name for p in self._caches.pools.store.values() if _selects(p, config))
        return pools

    def _owner(self, config: MachineConfig) -> MachineConfigPool | None:
        ref = config.metadata.controller()
        if ref is None or ref.kind != "MachineConfigPool":
            return None
        pool = self._caches.pools.store.get(ref.name)
        return pool if pool is not None and pool.metadata.uid == ref.uid else None

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
            await self._store(pool, rendered)
        except SelectingAll as error:
            self._events.event(pool, "Warning", "SelectingAll", error.message)
            return None
        except (InvalidInput, Forbidden) as error:
            await self._degraded(pool, f"Failed to render configuration for pool {name}: {error.message}")
            raise
        await self._target(pool, rendered)
        await self._degraded(pool, "")
        return None

    async def restore(self, pool: MachineConfigPool, name: str) -> Rendered | None:
        """Makes rendered config `name` again, or puts it right, if that is what the pool's inputs give now,
        and returns it. Whatever keeps the pool from being rendered is told by its own reconciliation."""
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            return None
        try:
            gates.require_completed(controller)
            configs = self._caches.configs.store.values()
            rendered = render(pool, configs, controller, self._versions, sources=self._sources)
        except (MCOError, SelectingAll):
            return None
        if rendered.name != name:
            return None
        await self._store(pool, rendered)
        return rendered

    def described(self, pool: MachineConfigPool, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """The object to create for a spec that was rendered before, described as if it was rendered now."""
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG) or ControllerConfig()
        overridden = spec["osImageURL"] != controller.spec.base_os_container_image
        said = made_by(controller, self._versions, overridden=overridden)
        return {"metadata": metadata(name, pool, said), "spec": spec}

    def knows(self, config: MachineConfig) -> bool:
        """Whether this version of a pool's target was made here, or seen to be as it was made."""
        return _identity(config) in self._intact.values()

    async def _check_reachable(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        """Refuses a config that no running node could follow, before any node is told."""
        target = pool.spec.configuration.name
        if not target or target == rendered.name:
            return
        try:
            current = await self._client.get(resources.MACHINE_CONFIGS, target)
        except NotFoundError:
            return
        try:
            check(current, _typed(rendered), rendered.inputs)
        except RenderError as error:
            error.message = f"could not generate rendered MachineConfig: {error.message}"
            raise

    async def _store(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        """Creates the config, or repairs the one that the pool's nodes are sent to if somebody changed it.
        One that no node is sent to is left alone."""
        found = self._caches.configs.store.get(rendered.name)
        if found is None:
            await self._create(pool, rendered)
        elif pool.spec.configuration.name == rendered.name and self._intact.get(pool.name) != _identity(
            found
        ):
            stored = await self._repaired(rendered)
            # What is no opinion to `repair` (a text that is wanted empty) may still be an edit.
            if is_intact(stored):
                self._intact[pool.name] = _identity(stored)

    async def _create(self, pool: MachineConfigPool, rendered: Rendered) -> None:
        try:
            created = await self._client.create(resources.MACHINE_CONFIGS, rendered.machine_config)
        except AlreadyExists:
            return
        self._intact[pool.name] = _identity(created)
        if rendered.overridden:
            text = (
                f"OSImageURL was overridden via machineconfig in {created.name} "
                f"(was: {self._base_image()} is: {created.spec.os_image_url})"
            )
            self._events.event(created, "Normal", "OSImageURLOverridden", text)
        release = created.metadata.annotation(names.RELEASE_IMAGE_VERSION) or ""
        by = created.metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION) or ""
        text = f"{created.name} successfully generated (release version: {release}, controller version: {by})"
        self._events.event(pool, "Normal", "RenderedConfigGenerated", text)

    async def _repaired(self, rendered: Rendered) -> MachineConfig:
        found = await self._client.get(resources.MACHINE_CONFIGS, rendered.name)
        wanted = _typed(rendered)
        patch = repair(found, wanted)
        if patch is None:
            return found
        repaired = await self._client.patch(resources.MACHINE_CONFIGS, found.name, patch, kind=PatchKind.JSON)
        if is_edit(found, wanted):
            self.tell_put_back(repaired, "as it was rendered")
        return repaired

    def tell_put_back(self, config: MachineConfig, whence: str) -> None:
        """Tells that it is again what its name says."""
        text = f"{config.name} was changed by somebody else, and is put back {whence}"
        self._events.event(config, "Warning", "RenderedConfigRepaired", text)
        _log.warning("a rendered config was changed; it is put back", config=config.name)

    def _base_image(self) -> str:
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        return controller.spec.os_image_url if controller else ""

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


def _typed(rendered: Rendered) -> MachineConfig:
    return msgspec.json.decode(msgspec.json.encode(rendered.machine_config), type=MachineConfig)


def _identity(config: MachineConfig) -> tuple[str, str]:
    return config.name, config.metadata.resource_version


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
