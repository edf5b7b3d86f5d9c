"""The node controller alone on an embedded API server: a pass is made when the test says so, on caches that
are filled when the test says so. What daemons and people do is written in between."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.api.core import Node
from mco.api.crds import definitions
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.apiserver.server import Settings, running
from mco.controllers.caches import Caches
from mco.controllers.explain import Explainer, Waits
from mco.controllers.node import NodeController
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.informer import Informer
from mco.operator.objects import Installation, controller_config, machine_config_node
from mco.plan.pool import waiting
from tests.controllers.fleet import HandClock


class Events:
    """What was reported: kind and name of the object, reason, message."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, str]] = []

    def event(self, regarding: Any, type_: str, reason: str, message: str) -> None:
        self.all.append((f"{regarding.kind}/{regarding.name}", reason, message))

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.all]


class Stage:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.events = Events()
        self.told: dict[str, Waits] = {}
        self.caches, self.controller = self.another()
        self._clock = HandClock()
        self._explainer = Explainer(client, self.caches.reports, self._clock)

    def another(self) -> tuple[Caches, NodeController]:
        """A controller with caches of its own, as a second process has it."""
        caches = Caches(self.client)
        clock = HandClock()
        return caches, NodeController(self.client, caches, self.events, clock, self._explain)

    def _explain(self, pool: str, waits: Waits) -> None:
        self.told[pool] = waits

    async def look(self, caches: Caches | None = None) -> None:
        """The caches hear of everything."""
        caches = caches or self.caches
        caches_of: dict[Any, Informer[Any]] = {
            resources.NODES: caches.nodes,
            resources.MACHINE_CONFIG_POOLS: caches.pools,
            resources.MACHINE_CONFIGS: caches.configs,
            resources.MACHINE_CONFIG_NODES: caches.reports,
            resources.CONTROLLER_CONFIGS: caches.controller_configs,
        }
        for resource, cache in caches_of.items():
            there = {obj.key: obj for obj in (await self.client.list(resource)).items}
            for key in [key for key in cache.store if key not in there]:
                cache.store.pop(key)
            for obj in there.values():
                cache.store.put(obj)

    async def step(self, pool: str = "worker") -> None:
        """The caches catch up, and `pool` has a pass."""
        await self.look()
        await self.controller.reconcile(pool)

    async def explain(self, pool: str = "worker") -> float | None:
        """What the last pass found out is written."""
        await self.look()
        return await self.written(pool)

    async def written(self, pool: str = "worker") -> float | None:
        """The same, on what the caches know."""
        self._explainer.tell(pool, self.told[pool])
        return await self._explainer.reconcile(pool)

    async def pool(self, name: str = "worker", target: str = "v1", **spec: Any) -> None:
        selector = {"matchLabels": {f"{names.NODE_ROLE_PREFIX}{name}": ""}}
        body = {"nodeSelector": selector, "configuration": {"name": target}} | spec
        await self.client.create(resources.MACHINE_CONFIG_POOLS, {"metadata": {"name": name}, "spec": body})

    async def change_pool(self, name: str = "worker", **spec: Any) -> None:
        await self.client.patch(resources.MACHINE_CONFIG_POOLS, name, {"spec": spec})

    async def target(self, config: str, pool: str = "worker") -> None:
        await self.change_pool(pool, configuration={"name": config})

    async def node(self, name: str, *roles: str, at: str = "v0", **marks: str) -> None:
        """A node that is Ready and Done at config `at`, of pool worker unless it has other roles."""
        annotations = {names.CURRENT_CONFIG: at, names.DESIRED_CONFIG: at, names.STATE: names.STATE_DONE}
        labels = {f"{names.NODE_ROLE_PREFIX}{role}": "" for role in roles or ("worker",)}
        metadata = {"name": name, "labels": labels, "annotations": annotations | marks}
        made = await self.client.create(resources.NODES, {"metadata": metadata})
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.patch(resources.NODES, name, {"status": ready}, subresource="status")
        report = machine_config_node(made, roles[0] if roles else "worker")
        await self.client.create(resources.MACHINE_CONFIG_NODES, report)

    async def says(self, name: str, **marks: str | None) -> None:
        """The daemon of a node reports: `state`, `reason`, `current`."""
        keys = {"state": names.STATE, "reason": names.REASON, "current": names.CURRENT_CONFIG}
        annotations = {keys[key]: value for key, value in marks.items()}
        await self.change_node(name, metadata={"annotations": annotations})

    async def arrives(self, name: str) -> None:
        """The daemon finishes what it was told."""
        await self.says(name, current=(await self.desired())[name], state=names.STATE_DONE)

    async def change_node(self, name: str, **body: Any) -> Node:
        return await self.client.patch(resources.NODES, name, body)

    async def nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in (await self.client.list(resources.NODES)).items}

    async def desired(self) -> dict[str, str]:
        found = await self.nodes()
        return {name: node.metadata.annotation(names.DESIRED_CONFIG) or "" for name, node in found.items()}

    async def moving(self) -> set[str]:
        """The nodes that were told to go and have not arrived."""
        return {
            name
            for name, node in (await self.nodes()).items()
            if node.metadata.annotation(names.CURRENT_CONFIG)
            != node.metadata.annotation(names.DESIRED_CONFIG)
        }

    async def status(self, pool: str = "worker") -> MachineConfigPool:
        return await self.client.get(resources.MACHINE_CONFIG_POOLS, pool)

    async def counts(self, pool: str = "worker") -> tuple[int, int, int, int, int]:
        """machine, updated, ready, unavailable, degraded."""
        status = (await self.status(pool)).status
        return (
            status.machine_count,
            status.updated_machine_count,
            status.ready_machine_count,
            status.unavailable_machine_count,
            status.degraded_machine_count,
        )

    async def conditions(self, pool: str = "worker") -> str:
        """Updated, Updating, Degraded, as one letter each."""
        found = (await self.status(pool)).status.conditions
        states = (cond.find(found, type_) for type_ in ("Updated", "Updating", "Degraded"))
        return "".join(state.status[0] if state else "-" for state in states)

    async def why(self, node: str) -> tuple[str, str] | None:
        """Reason and message of what the node's MachineConfigNode says about its waiting."""
        return waiting.said(await self.client.get(resources.MACHINE_CONFIG_NODES, node))


@contextlib.asynccontextmanager
async def stage(folder: Path, topology: str = "External") -> AsyncIterator[Stage]:
    async with running(Settings(data_dir=folder)) as api, Client(load(api.kubeconfig)) as client:
        for body in definitions():
            await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        installation = Installation(server=api.url, ca=b"ca", version="0.1.0", topology=topology)
        await client.create(resources.CONTROLLER_CONFIGS, controller_config(installation))
        yield Stage(client)
