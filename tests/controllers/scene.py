"""Rendered configs from their making to their end: the real render, node and prune controllers and the real
answers of the config server, on the embedded store, with a clock that moves when the test says so.

Controllers make a pass when the test says so, on caches that are filled when the test says so. A machine is
what its disk holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import msgspec

from mco.api import names, resources
from mco.api.machineconfig import MachineConfig
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.configserver.cluster import Access, ClusterConfigs
from mco.configserver.cluster import Caches as ServerCaches
from mco.configserver.marks import ServingMarks
from mco.controllers.caches import Caches
from mco.controllers.node import NodeController
from mco.controllers.prune import ALL, Collection, PruneController
from mco.controllers.render import RenderController
from mco.controllers.restore import RestoreController
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.operator.objects import machine_config_node
from mco.render.checks import Versions
from tests.controllers.fleet import HandClock
from tests.controllers.stage import Events
from tests.inprocess import in_process
from tests.installed import VERSION, installed

T = TypeVar("T", bound=Object)
POOL = "worker"
HOUR = 3600.0


class Scene:
    def __init__(self, client: Client, clock: HandClock, tokens: Path) -> None:
        self.client = client
        self.clock = clock
        self._tokens = tokens
        self.collector: type[PruneController] = PruneController
        self.collection = Collection(enabled=True, rate=1e6)
        self.restart()

    def restart(self) -> None:
        """Every process is a new one, that knows nothing."""
        client, clock = self.client, self.clock
        self.events = Events()
        self.caches = Caches(client)
        versions = Versions(raw=VERSION, hash=VERSION)
        self.render = RenderController(client, self.caches, self.events, clock, versions)
        self.node = NodeController(client, self.caches, self.events, clock)
        self.prune = self.collector(client, self.caches, clock, self.collection)
        self.restore = RestoreController(client, self.caches, self.render, self.events, clock)
        self.server_caches = ServerCaches(client)
        access = Access(server="https://api", token_folder=self._tokens, authorities=b"ca")
        self._marks = ServingMarks(client, clock)
        self.server = ClusterConfigs(client, self.server_caches, access, self._marks)

    # What is there

    async def configs(self) -> dict[str, MachineConfig]:
        """The rendered ones."""
        found = (await self.client.list(resources.MACHINE_CONFIGS)).items
        return {config.name: config for config in found if config.name.startswith(names.RENDERED_PREFIX)}

    async def exists(self, config: str) -> bool:
        try:
            await self.client.get(resources.MACHINE_CONFIGS, config)
        except NotFoundError:
            return False
        return True

    async def data(self, name: str) -> dict[str, str]:
        """What ConfigMap `name` holds."""
        found = await self.client.get(resources.CONFIG_MAPS, name, namespace=names.NAMESPACE)
        return found.data or {}

    async def target(self) -> str:
        return (await self.client.get(resources.MACHINE_CONFIG_POOLS, POOL)).spec.configuration.name

    async def active(self) -> dict[str, list[str]]:
        """What the pool's status says of its configs."""
        raw = await self.client.request("GET", resources.MACHINE_CONFIG_POOLS.path(POOL))
        found = msgspec.json.decode(raw)["status"].get("activeConfigurations") or []
        return {entry["name"]: entry["reasons"] for entry in found}

    # What people do

    async def input(self, text: str) -> None:
        """The pool's one MachineConfig says `text`."""
        file = {"path": "/etc/text", "mode": 420, "contents": {"source": f"data:,{text}"}}
        spec = {"config": {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}}
        body = {"metadata": {"name": "50-text", "labels": {names.ROLE_LABEL: POOL}}, "spec": spec}
        try:
            await self.client.patch(resources.MACHINE_CONFIGS, "50-text", body)
        except NotFoundError:
            await self.client.create(resources.MACHINE_CONFIGS, body)

    async def annotate(self, config: str, **annotations: str | None) -> None:
        keys = {"keep": names.KEEP, "allow_deletion": names.ALLOW_DELETION}
        body = {"metadata": {"annotations": {keys[key]: value for key, value in annotations.items()}}}
        await self.client.patch(resources.MACHINE_CONFIGS, config, body)

    async def delete(self, config: str) -> None:
        await self.client.delete(resources.MACHINE_CONFIGS, config)

    async def build(self, name: str, config: str) -> None:
        spec = {
            "machineConfig": {"name": config},
            "machineOSConfig": {"name": POOL},
            "renderedImagePushSpec": "registry.example/os:latest",
        }
        body = {"metadata": {"name": name}, "spec": spec}
        await self.client.create(resources.MACHINE_OS_BUILDS, body)

    # What controllers do

    async def look(self) -> None:
        """The controllers hear of everything; so do those who restore what is gone."""
        caches = self.caches
        configs = await refill(self.client, resources.MACHINE_CONFIGS, caches.configs)
        pools = await refill(self.client, resources.MACHINE_CONFIG_POOLS, caches.pools)
        nodes = await refill(self.client, resources.NODES, caches.nodes)
        reports = await refill(self.client, resources.MACHINE_CONFIG_NODES, caches.reports)
        await refill(self.client, resources.CONTROLLER_CONFIGS, caches.controller_configs)
        await refill(self.client, resources.CONFIG_MAPS, self.prune.maps)
        keys = [self.restore.affected(old, new) for old, new in configs]
        for users in (pools, nodes, reports):
            keys += [self.restore.affected_by(old, new) for old, new in users]
        for config in sorted(set().union(*keys)):
            await self.restored(config)

    async def restored(self, config: str) -> float | None:
        """As often as the controller asks for it at once; when it looks again."""
        while (again := await self.restore.reconcile(config)) == 0.0:
            pass
        return again

    async def server_looks(self) -> None:
        caches = self.server_caches
        await refill(self.client, resources.MACHINE_CONFIG_POOLS, caches.pools)
        await refill(self.client, resources.MACHINE_CONFIGS, caches.machine_configs)
        await refill(self.client, resources.CONTROLLER_CONFIGS, caches.controllers)

    async def rendered(self) -> str:
        """The pool's inputs become its target, and nodes are sent there as far as they may go."""
        await self.look()
        await self.render.reconcile(POOL)
        await self.look()
        await self.node.reconcile(POOL)
        return await self.target()

    async def rolled(self) -> None:
        await self.look()
        await self.node.reconcile(POOL)

    async def pruned(self) -> None:
        """Everybody looks, and what nobody needs is collected."""
        await self.look()
        while await self.prune.reconcile(ALL) == 0.0:
            await self.look()

    async def served(self) -> str:
        """What a machine that asks now is served."""
        await self.server_looks()
        await self.server.refresh(POOL)
        prepared = self.server.ready(POOL, "3.5.0")
        assert prepared is not None
        return prepared.name

    async def renewed(self) -> None:
        """The config server notes that it still serves what it serves."""
        await self._marks.mark(self.server.configs)

    # What machines do

    async def register(self, name: str, config: str = "") -> None:
        """A Node of the pool with its report; without `config` it says nothing of itself."""
        said = {names.CURRENT_CONFIG: config, names.DESIRED_CONFIG: config, names.STATE: names.STATE_DONE}
        body = {
            "metadata": {
                "name": name,
                "labels": {f"{names.NODE_ROLE_PREFIX}{POOL}": ""},
                "annotations": said if config else {},
            }
        }
        await self.client.create(resources.NODES, body)
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.patch(resources.NODES, name, {"status": ready}, subresource="status")
        if not await self.reported(name):
            await self._report(name)

    async def _report(self, name: str) -> None:
        """As the operator does it for each Node."""
        node = await self.client.get(resources.NODES, name)
        await self.client.create(resources.MACHINE_CONFIG_NODES, machine_config_node(node, POOL))

    async def reported(self, name: str) -> bool:
        try:
            await self.client.get(resources.MACHINE_CONFIG_NODES, name)
        except NotFoundError:
            return False
        return True

    async def unreported(self, name: str) -> None:
        with contextlib.suppress(NotFoundError):
            await self.client.delete(resources.MACHINE_CONFIG_NODES, name)

    async def says(self, name: str, **annotations: str) -> None:
        keys = {"current": names.CURRENT_CONFIG, "desired": names.DESIRED_CONFIG, "state": names.STATE}
        body = {"metadata": {"annotations": {keys[key]: value for key, value in annotations.items()}}}
        await self.client.patch(resources.NODES, name, body)

    async def reports(self, name: str, *, current: str, desired: str) -> None:
        if not await self.reported(name):
            await self._report(name)
        status = {"configVersion": {"current": current, "desired": desired}, "observedGeneration": 1}
        await self.client.patch(
            resources.MACHINE_CONFIG_NODES, name, {"status": status}, subresource="status"
        )

    async def told(self, name: str) -> str:
        """Where the Node says that it shall go."""
        node = await self.client.get(resources.NODES, name)
        return node.metadata.annotation(names.DESIRED_CONFIG) or ""


async def refill(
    client: Client, resource: Resource[T], informer: Informer[T]
) -> list[tuple[T | None, T | None]]:
    """Fills a cache with what there is; what changed."""
    store, there = informer.store, {obj.key: obj for obj in (await client.list(resource)).items}
    changes: list[tuple[T | None, T | None]] = [
        (store.pop(key), None) for key in [key for key in store if key not in there]
    ]
    for obj in there.values():
        old = store.put(obj)
        if old is None or old.metadata.resource_version != obj.metadata.resource_version:
            changes.append((old, obj))
    return changes


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    clock = HandClock()
    async with in_process(folder / "api", clock) as client:
        yield await set_up(folder, client, clock)


async def set_up(folder: Path, client: Client, clock: HandClock) -> Scene:
    """An installation on a server that has nothing yet."""
    tokens = folder / "tokens"
    tokens.mkdir()
    (tokens / "token").write_text("token")
    await installed(client)
    return Scene(client, clock, tokens)
