"""Watches a rollout from outside: who wrote what, how often, and when the pool was updated."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import msgspec

from bench.installation import cpu_seconds, memory
from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.plan import report

_DAEMONS = (names.CURRENT_CONFIG, names.STATE, names.REASON, names.DESIRED_DRAIN, names.POST_CONFIG_ACTION)
_DRAINS = (report.CORDONED, report.DRAINED, report.UNCORDONED)
_QUIET = 2.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Of one rollout: writes by controllers and by daemons (the status of their Node among them), passes that
    changed the pool's status, the controllers' CPU in seconds and memory in MiB."""

    seconds: float
    controllers: int
    daemons: int
    passes: int
    cpu: float
    memory: float


class Observer:
    def __init__(self, client: Client) -> None:
        self._nodes = Informer(client, resources.NODES)
        self._pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self._writes: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._target = ""
        self._began = self._cpu = 0.0
        self._nodes.add_handler(self._node)
        self._reports.add_handler(self._report)
        self._pools.add_handler(self._pool)

    async def run(self) -> None:
        await asyncio.gather(self._nodes.run(), self._pools.run(), self._reports.run())

    def begin(self, controller: int) -> None:
        pool = self._pools.store.get(names.WORKER)
        self._target = pool.spec.configuration.name if pool else ""
        self._writes.clear()
        self._cpu, self._began = cpu_seconds(controller), time.perf_counter()

    def end(self, controller: int) -> Seen:
        return Seen(
            seconds=time.perf_counter() - self._began,
            controllers=self._writes["controllers"],
            daemons=self._writes["daemons"],
            passes=self._writes["passes"],
            cpu=cpu_seconds(controller) - self._cpu,
            memory=memory(controller),
        )

    async def updated(self, nodes: int, *, again: bool = False) -> None:
        """Until the pool is Updated with so many nodes; `again`: at another target than before."""

        def holds() -> bool:
            pool = self._pools.store.get(names.WORKER)
            if pool is None or pool.spec.configuration.name in ("", self._target if again else ""):
                return False
            at_target = pool.status.configuration.name == pool.spec.configuration.name
            everybody = pool.status.machine_count == nodes
            return at_target and everybody and cond.is_true(pool.status.conditions, "Updated")

        await self._until(holds)

    async def quiet(self) -> None:
        """Until the last writes about what is new have been made."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(_QUIET):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(900):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def _count(self, who: str) -> None:
        self._writes[who] += 1
        self._changed.set()

    def _node(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None:
            self._changed.set()
            return
        before, after = old.metadata.annotations or {}, new.metadata.annotations or {}
        said = any(before.get(key) != after.get(key) for key in _DAEMONS)
        booted = old.status != new.status
        self._count("daemons" if said or booted else "controllers")

    def _report(self, old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        if old is None or new is None:
            self._changed.set()
            return
        said = {c.type: c for c in new.status.conditions}
        before = {c.type: c for c in old.status.conditions}
        changed = {type_ for type_, condition in said.items() if before.get(type_) != condition}
        drained = any(said[type_].status != cond.FALSE for type_ in changed.intersection(_DRAINS))
        # A daemon says so too, along with what it did.
        drained = drained and report.APPLIED_FILES_AND_OS not in changed
        by_controllers = old.spec != new.spec or drained
        self._count("controllers" if by_controllers else "daemons")

    def _pool(self, old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
        self._changed.set()
        if old is not None and new is not None and old.status != new.status and new.name == names.WORKER:
            self._writes["passes"] += 1
