"""A cluster without machines: the embedded API server, operator and controllers in process, and nodes that do
what they are told at once, or not, as a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.apiserver.server import Settings, running
from mco.controllers.metrics import Metrics
from mco.controllers.process import Controllers, Pace
from mco.kube.client import Client
from mco.kube.config import Cluster, load
from mco.kube.informer import Informer
from mco.operator import process
from mco.operator.objects import Installation
from mco.pki import authority
from mco.runtime.clock import SystemClock
from mco.sim.library import Library
from mco.sim.node import SimulatedNode
from mco.sim.script import Script

PATIENCE = 60.0


class HandClock:
    """Moves when the test says so; `jump` is by how much the wall clock is wrong."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.jump = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds + self.jump)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Observed(Client):
    """The controllers' client; `requests` counts what they ask for, as ("PATCH", "nodes")."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.requests: Counter[tuple[str, str]] = Counter()

    async def get(self, res: Any, name: str, **more: Any) -> Any:
        self.requests["GET", res.plural] += 1
        return await super().get(res, name, **more)

    async def patch(self, res: Any, name: str, body: Any, **more: Any) -> Any:
        self.requests["PATCH", f"{res.plural}/{more.get('subresource', '')}".rstrip("/")] += 1
        return await super().patch(res, name, body, **more)


class Fleet:
    """`obedient`: what a simulated daemon answers to a new desired config: True for Done at once, a text for
    Degraded with that reason, False for no answer."""

    def __init__(
        self, client: Client, controllers: Observed, folder: Path, server: str, metrics: Metrics
    ) -> None:
        self.client = client
        self.controllers = controllers
        self.metrics = metrics
        self.server = server
        self.folder = folder
        self._obedient: bool | str = True
        self._daemons: dict[str, SimulatedNode] = {}
        self._lives: list[asyncio.Future[None]] = []
        self._library = Library(client)
        self.moving: set[str] = set()
        self.most_moving = 0
        self.pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self.nodes = Informer(client, resources.NODES)
        self.reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self.configs = Informer(client, resources.MACHINE_CONFIGS)
        self._changed = asyncio.Event()
        for informer in (self.pools, self.reports, self.configs):
            informer.add_handler(lambda *_: self._changed.set())
        self.nodes.add_handler(self._node_changed)

    @property
    def obedient(self) -> bool | str:
        return self._obedient

    @obedient.setter
    def obedient(self, value: bool | str) -> None:
        self._obedient = value
        for daemon in self._daemons.values():
            daemon.script = self._script()

    def _script(self) -> Script:
        if isinstance(self._obedient, str):
            return Script(brief=True, failing=1.0, failures=math.inf, reason=self._obedient, retry=PATIENCE)
        return Script(brief=True, retry=PATIENCE)

    def _node_changed(self, old: Node | None, node: Node | None) -> None:
        self._changed.set()
        if node is None:
            return
        desired = node.metadata.annotation(names.DESIRED_CONFIG)
        away = node.metadata.annotation(names.CURRENT_CONFIG) != desired
        (self.moving.add if away else self.moving.discard)(node.name)
        self.most_moving = max(self.most_moving, len(self.moving))
        if self._obedient:
            self._daemon(node).saw_node(old, node)

    def _daemon(self, node: Node) -> SimulatedNode:
        if node.name not in self._daemons:
            recorded = node.metadata.annotation(names.CURRENT_CONFIG) or ""
            daemon = SimulatedNode(
                self.client, self._library, node.name, self._script(), SystemClock(), recorded=recorded
            )
            self._daemons[node.name] = daemon
            self._lives.append(asyncio.ensure_future(daemon.live(lambda _: contextlib.nullcontext())))
        return self._daemons[node.name]

    async def end(self) -> None:
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)

    async def config(self, name: str, role: str = "worker", **spec: Any) -> None:
        """Creates or replaces a MachineConfig."""
        document = spec.pop("config", {"ignition": {"version": "3.2.0"}})
        body = {
            "metadata": {"name": name, "labels": {names.ROLE_LABEL: role}},
            "spec": {"config": document} | spec,
        }
        if name in {c.name for c in (await self.client.list(resources.MACHINE_CONFIGS)).items}:
            await self.client.patch(resources.MACHINE_CONFIGS, name, body)
        else:
            await self.client.create(resources.MACHINE_CONFIGS, body)

    async def file(self, name: str, text: str, role: str = "worker") -> None:
        """A MachineConfig with one file."""
        file = {"path": f"/etc/{name}", "mode": 420, "contents": {"source": f"data:,{text}"}}
        await self.config(name, role, config={"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}})

    async def node(self, name: str, *roles: str, current: str = "", **annotations: str) -> None:
        """A Node that is Ready and, with `current`, already at that config."""
        marks = dict(annotations)
        if current:
            marks |= {
                names.CURRENT_CONFIG: current,
                names.DESIRED_CONFIG: current,
                names.STATE: names.STATE_DONE,
            }
        body = {
            "metadata": {
                "name": name,
                "labels": {f"{names.NODE_ROLE_PREFIX}{role}": "" for role in roles},
                "annotations": marks,
            }
        }
        await self.client.create(resources.NODES, body)
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.patch(resources.NODES, name, {"status": ready}, subresource="status")

    def pool(self, name: str = "worker") -> MachineConfigPool:
        return self.pools.store.get(name) or MachineConfigPool()

    def condition(self, type_: str, pool: str = "worker") -> str:
        found = cond.find(self.pool(pool).status.conditions, type_)
        return found.status if found else ""

    def message(self, type_: str, pool: str = "worker") -> str:
        found = cond.find(self.pool(pool).status.conditions, type_)
        return found.message if found else ""

    def annotation(self, node: str, key: str) -> str | None:
        found = self.nodes.store.get(node)
        return found.metadata.annotation(key) if found else None

    async def rendered(self, name: str = "worker", *, other_than: str = "") -> str:
        """The pool's target, once there is one that is not `other_than`."""
        await self.until(
            lambda: self.pool(name).spec.configuration.name not in ("", other_than), f"{name} rendered"
        )
        return self.pool(name).spec.configuration.name

    async def updated(self, machines: int, pool: str = "worker", *, config: str = "") -> None:
        def holds() -> bool:
            found = self.pool(pool)
            return (
                self.condition("Updated", pool) == "True"
                and found.status.machine_count == machines
                and found.status.configuration.name == found.spec.configuration.name
                and (not config or found.spec.configuration.name == config)
            )

        await self.until(holds, f"{pool} updated with {machines} machines")

    def reported_condition(self, node: str, type_: str) -> str:
        """The message of a condition in the node's MachineConfigNode."""
        report = self.reports.store.get(node)
        found = cond.find(report.status.conditions, type_) if report else None
        return found.message if found else ""

    async def reported(self, nodes: int) -> None:
        await self.until(lambda: len(self.reports.store) == nodes, f"{nodes} MachineConfigNodes")

    async def config_when(self, name: str, holds: Callable[[MachineConfig], bool]) -> MachineConfig:
        """MachineConfig `name`, once it is as it should be."""
        found: list[MachineConfig] = []

        def look() -> bool:
            config = self.configs.store.get(name)
            if config is not None and holds(config):
                found.append(config)
            return bool(found)

        await self.until(look, f"{name} as expected")
        return found[0]

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            pools = {p.name: (p.spec.configuration.name, p.status) for p in self.pools.store.values()}
            nodes = {n.name: n.metadata.annotations for n in self.nodes.store.values()}
            raise AssertionError(f"{what} did not happen; pools {pools}; nodes {nodes}") from error


@contextlib.asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[Fleet]:
    clock = SystemClock()
    async with (
        running(Settings(data_dir=folder)) as api,
        Client(load(api.kubeconfig)) as client,
        Observed(load(api.kubeconfig)) as observed,
    ):
        signer = authority.load(folder / "ca.crt", folder / "ca.key")
        installation = Installation(server=api.url, ca=signer.certificate_pem, version="0.1.0")
        controllers = Controllers(observed, clock, authority=signer, pace=Pace(settle=0.0))
        made = Fleet(client, observed, folder, api.url, controllers.metrics)
        tasks = [asyncio.create_task(process.run(client, installation, clock))]
        # The controllers' caches start when their kinds are served, as they would after a restart.
        tasks += [asyncio.ensure_future(part()) for part in controllers.parts.values()]
        followed = (made.pools, made.nodes, made.reports, made.configs)
        tasks += [asyncio.create_task(informer.run()) for informer in followed]
        try:
            await made.until(lambda: "worker" in made.pools.store, "installation")
            yield made
        finally:
            await made.end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await controllers.close()


@contextlib.asynccontextmanager
async def another_operator(fleet: Fleet) -> AsyncIterator[None]:
    """Beside the first, as when a new one starts before the old one has gone."""
    ca = (fleet.folder / "ca.crt").read_bytes()
    installation = Installation(server=fleet.server, ca=ca, version="0.1.0")
    task = asyncio.create_task(process.run(fleet.client, installation, SystemClock()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
