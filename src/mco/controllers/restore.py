"""Brings rendered configs back that were deleted or edited while somebody needs them.

That is done at once, not after the quiet time that inputs get. Two sources are tried: a pool is rendered as
its inputs are, which gives the same bytes if it gives the same name; else a node is asked for its own copy,
of which only what has that name is taken.
"""

from __future__ import annotations

from typing import Any

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.controllers.caches import Caches
from mco.controllers.copysearch import CopySearch, Found, Later, Lost
from mco.controllers.render import RenderController
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.kube.events import EventSink
from mco.kube.requests import PatchKind
from mco.plan.pool.prune import pool_of
from mco.plan.pool.uses import Reasons, User, Users, listed, needs, users_text, uses
from mco.render.copies import Spec, is_intact
from mco.render.naming import pool_in
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.restore")


class RestoreController:
    """`reconcile` takes the name of a rendered config; `affected` and `affected_by` say which ones an event
    of a config, or of somebody who may need one, concerns."""

    def __init__(
        self, client: Client, caches: Caches, render: RenderController, events: EventSink, clock: Clock
    ) -> None:
        self._client = client
        self._caches = caches
        self._render = render
        self._events = events
        self._search = CopySearch(client, caches, events, clock)
        self.keep_tidy = self._search.copies.keep_tidy
        self._intact: dict[str, str] = {}

    def affected(self, old: MachineConfig | None, new: MachineConfig | None) -> set[str]:
        """Rendered configs that changed or are gone, and those that are back while they are searched for."""
        config = old or new
        if config is None or not pool_of(config) or (old is None and config.name not in self._search.open):
            return set()
        if new is None:
            self._intact.pop(config.name, None)
        return {config.name}

    def affected_by(self, old: User | None, new: User | None) -> set[str]:
        """What somebody came to need; and all that is searched for, when somebody else may have it now."""
        if isinstance(old, Node | None) and isinstance(new, Node | None):
            self._search.saw(old, new)
        return set() if _facts(old) == _facts(new) else (_needs(new) - _needs(old)) | self._search.open

    async def reconcile(self, name: str) -> float | None:
        found = self._caches.configs.store.get(name)
        if found is not None and self._is_known(found) and name not in self._search.open:
            return None
        pool = self._caches.pools.store.get(pool_in(name))
        needed = uses(self._users()).get(name)
        again = None
        if pool is not None and not pool.metadata.deletion_timestamp and needed is not None:
            again = await self._brought_back(pool, name, needed)
        if again is None:
            await self._search.close(name)
        return again

    async def _brought_back(self, pool: MachineConfigPool, name: str, needed: Reasons) -> float | None:
        """None when it is there, as it was rendered; else when to look again."""
        rendered = await self._render.restore(pool, name)
        stored = await self._stored(name)
        if stored is not None and self._is_intact(stored):
            return None
        if rendered is None:
            return await self._from_nodes(pool, name, stored, needed)
        if stored is not None:
            await self._put_back(stored, rendered.spec, "as it was rendered")
        return None

    def _is_known(self, config: MachineConfig) -> bool:
        if self._render.knows(config):
            self._intact[config.name] = config.metadata.resource_version
        return self._intact.get(config.name) == config.metadata.resource_version

    async def _stored(self, name: str) -> MachineConfig | None:
        try:
            return await self._client.get(resources.MACHINE_CONFIGS, name)
        except NotFoundError:
            return None

    def _is_intact(self, config: MachineConfig) -> bool:
        if is_intact(config):
            self._intact[config.name] = config.metadata.resource_version
        return self._is_known(config)

    def _users(self) -> Users:
        caches = self._caches
        return Users(
            pools=caches.pools.store.values(),
            nodes=caches.nodes.store.values(),
            reports=caches.reports.store.values(),
        )

    async def _from_nodes(
        self, pool: MachineConfigPool, name: str, stored: MachineConfig | None, needed: Reasons
    ) -> float | None:
        match await self._search.go_on(name):
            case Later(seconds):
                return seconds
            case Lost() as lost:
                if lost.news:
                    what = "is gone" if stored is None else "was changed by somebody else"
                    text = f"{name} {what}, needed by {users_text(needed)}, and {_lost_text(lost)}"
                    self._events.event(pool, "Warning", "RenderedConfigLost", text)
                    _log.error("a rendered config that is needed is lost", config=name, because=text)
                return lost.seconds
            case Found(spec, node) if stored is not None:
                await self._put_back(stored, spec, f"from the copy of node {node}")
            case Found(spec, node):
                await self._create(pool, name, spec, node)
        return None

    async def _create(self, pool: MachineConfigPool, name: str, spec: Spec, node: str) -> None:
        try:
            body = self._render.described(pool, name, spec)
            made = await self._client.create(resources.MACHINE_CONFIGS, body)
        except AlreadyExists:
            return
        text = f"{name} was gone, and is back from the copy of node {node}"
        self._events.event(made, "Normal", "RenderedConfigRestored", text)
        _log.info("a rendered config is back", config=name, node=node)

    async def _put_back(self, stored: MachineConfig, spec: Spec, whence: str) -> None:
        version = stored.metadata.resource_version
        patch: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/spec", "value": spec},
        ]
        repaired = await self._client.patch(
            resources.MACHINE_CONFIGS, stored.name, patch, kind=PatchKind.JSON
        )
        self._render.tell_put_back(repaired, whence)


def _facts(user: User | None) -> object:
    """What of a user may change what is needed, or who can help."""
    if user is None:
        return None
    said = [user.metadata.annotation(key) for key in (names.COPY_WANTED, names.COPY_GIVEN)]
    ready = cond.find(user.status.conditions, "Ready")
    return (*needs(user), *said, ready.status if ready else "")


def _needs(user: User | None) -> set[str]:
    return {name for name, _ in needs(user) if pool_in(name)} if user is not None else set()


def _lost_text(lost: Lost) -> str:
    """Why it is not back, and what a person can do."""
    why = [f"{listed('node', lost.asked)} could not give a copy"] if lost.asked else []
    why += [f"nothing is heard of {listed('node', lost.silent)}, which may have one"] if lost.silent else []
    return (
        f"its MachineConfigs have changed; {'; '.join(why) or 'no node has a copy'}. Create the "
        "MachineConfigs again as they were, or send those who need it elsewhere"
    )
