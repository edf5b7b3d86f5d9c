"""A fleet of simulated nodes against a server: registered as new machines are, each with watches of its own
that show it nothing but itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec

from mco.api import names
from mco.api.resources import MACHINE_CONFIG_NODES, MACHINE_CONFIG_POOLS, NODES
from mco.base.errors import MCOError
from mco.daemon.registration import Facts, Registration
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists
from mco.kube.informer import Informer
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger
from mco.runtime.supervise import beside
from mco.sim.library import Library
from mco.sim.node import SimulatedNode
from mco.sim.script import Script

_log = Logger("mco.sim.fleet")

INSTANCE_TYPE, SIMULATED = "node.kubernetes.io/instance-type", "simulated"
"""The label by which simulated nodes are known."""

_PARALLEL = 32
"""Nodes that come up at the same time."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted. `reports`: the nodes write conditions into their MachineConfigNodes. `leases`: they
    renew their leases, as a cluster without kubelets needs it."""

    nodes: int
    prefix: str = "sim"
    pool: str = names.WORKER
    script: Script = Script()
    reports: bool = True
    leases: bool = False

    @property
    def names(self) -> list[str]:
        width = len(str(self.nodes))
        return [f"{self.prefix}-{number:0{width}}" for number in range(1, self.nodes + 1)]


class SimulatedFleet:
    """`run` makes the nodes and lives their lives until cancelled. Nodes that exist already are taken over as
    they are."""

    def __init__(self, client: Client, order: Order, clock: Clock) -> None:
        self._client = client
        self._order = order
        self._clock = clock
        self._library = Library(client)
        self._coming_up = asyncio.Semaphore(_PARALLEL)

    async def run(self) -> None:
        config = await self._served()
        async with asyncio.TaskGroup() as lives:
            for name in self._order.names:
                lives.create_task(self._live(name, config), name=name)

    async def _served(self) -> str:
        """The config that new machines of the pool get, as soon as there is one."""
        pools = Informer(
            self._client, MACHINE_CONFIG_POOLS, field_selector=f"metadata.name={self._order.pool}"
        )
        served: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def look(_: object, pool: Any) -> None:
            if pool is not None and pool.status.configuration.name and not served.done():
                served.set_result(pool.status.configuration.name)

        pools.add_handler(look)
        async with beside(pools.run()):
            return await served

    async def _live(self, name: str, config: str) -> None:
        while True:
            try:
                recorded = await self._join(name, config)
                break
            except MCOError as error:
                _log.warning("node not made yet", node=name, error=str(error))
                await self._clock.sleep(self._order.script.retry)
        node = SimulatedNode(
            self._client, self._library, name, self._order.script, self._clock, recorded=recorded
        )
        await node.live(self._attached)

    async def _join(self, name: str, config: str) -> str:
        """Makes the Node as a config server's answer and a join leave it; the config that it is at."""
        annotations = {
            names.CURRENT_CONFIG: config,
            names.DESIRED_CONFIG: config,
            names.STATE: names.STATE_DONE,
        }
        labels = {f"{names.NODE_ROLE_PREFIX}{self._order.pool}": "", INSTANCE_TYPE: SIMULATED}
        body = {"metadata": {"name": name, "labels": labels, "annotations": annotations}}
        async with self._coming_up:
            try:
                node = await self._client.create(NODES, body)
            except AlreadyExists:
                node = await self._client.get(NODES, name)
        return node.metadata.annotation(names.CURRENT_CONFIG) or config

    @contextlib.asynccontextmanager
    async def _attached(self, node: SimulatedNode) -> AsyncIterator[None]:
        """One boot: the node says that it is there, and follows itself."""
        selector = f"metadata.name={node.name}"
        nodes = Informer(self._client, NODES, field_selector=selector)
        nodes.add_handler(node.saw_node)
        parts: list[Coroutine[Any, Any, None]] = [nodes.run()]
        synced = [nodes.synced()]
        if self._order.reports:
            reports = Informer(self._client, MACHINE_CONFIG_NODES, field_selector=selector)
            reports.add_handler(node.saw_report)
            parts.append(reports.run())
            synced.append(reports.synced())
        async with self._coming_up:
            lease = await self._register(node)
        if lease is not None:
            parts.append(lease)
        async with beside(*parts):
            async with self._coming_up:
                await asyncio.gather(*synced)
            yield

    async def _register(self, node: SimulatedNode) -> Coroutine[Any, Any, None] | None:
        """As the daemon does it; what renews the lease, if somebody shall."""
        facts = Facts(node.name, node.boot_id, node.boot_id, "Simulated machine", "", "amd64")
        registration = Registration(self._client, node.name, facts, self._clock)
        while True:
            try:
                registered = await registration.register()
                break
            except MCOError as error:
                _log.warning("node not registered yet", node=node.name, error=str(error))
                await self._clock.sleep(self._order.script.retry)
        node.registered(registration)
        return registration.lease(registered).run() if self._order.leases else None
