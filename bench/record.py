"""The record of a soak: every version of every Node that the watch shows.

The embedded API server keeps its history across restarts, so that a watch misses nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from mco.api import names, resources
from mco.api.core import Node
from mco.api.meta import conditions as cond
from mco.base.errors import Unavailable
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.plan.pool import nodes as state


class Record:
    """`away`: nodes on their way to another config now; `most_away`: at most since `begin`. `last_way`: how
    many seconds the last one that arrived was on its way."""

    def __init__(self, client: Client) -> None:
        self._pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._nodes = Informer(client, resources.NODES)
        self._configs = Informer(client, resources.MACHINE_CONFIGS)
        self._reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self._changed = asyncio.Event()
        self._waiting: set[asyncio.Event] = set()
        self._away: dict[str, float] = {}
        self._uids: dict[str, str] = {}
        self._gone: set[str] = set()
        self.most_away = 0
        self.last_way = 0.0
        self._nodes.add_handler(self._node)
        for informer in (self._pools, self._configs, self._reports):
            informer.add_handler(self._tell)

    async def run(self) -> None:
        informers = (self._pools, self._nodes, self._configs, self._reports)
        await asyncio.gather(*(informer.run() for informer in informers))

    def begin(self) -> None:
        self.most_away = 0
        self._uids = {node.name: node.metadata.uid for node in self._nodes.store.values()}
        self._gone.clear()

    @property
    def away(self) -> int:
        return len(self._away)

    def _node(self, old: Node | None, new: Node | None) -> None:
        self._tell()
        if new is None:
            self._gone.add(old.name if old else "")
            return
        moving = state.current(new) != state.desired(new) or state.state(new) != names.STATE_DONE
        now = time.monotonic()
        if moving:
            self._away.setdefault(new.name, now)
        elif new.name in self._away:
            self.last_way = now - self._away.pop(new.name)
        self.most_away = max(self.most_away, len(self._away))

    def served(self) -> bool:
        pool = self._pools.store.get(names.WORKER)
        return pool is not None and bool(pool.status.configuration.name)

    def updated(self, machines: int, wanted: Mapping[str, str]) -> bool:
        """Every machine is at a config that has everything that is wanted, and says so in its report."""
        pool = self._pools.store.get(names.WORKER)
        if pool is None or pool.status.configuration.name != pool.spec.configuration.name:
            return False
        target = pool.spec.configuration.name
        config = self._configs.store.get(target)
        raw = bytes(config.spec.config).decode() if config else ""
        arguments = (config.spec.kernel_arguments or ()) if config else ()
        has_all = all(text in raw or text in arguments for text in wanted.values())
        there = sum(state.done(n) and state.current(n) == target for n in self._nodes.store.values())
        return (
            has_all
            and there == machines == pool.status.machine_count
            and cond.is_true(pool.status.conditions, "Updated")
        )

    def lost(self, machines: set[str]) -> list[str]:
        """Nodes and reports that should be there, or were somebody else in between."""
        wrong = [f"node {name} was deleted" for name in self._gone]
        for name in sorted(machines):
            node = self._nodes.store.get(name)
            if node is None or node.metadata.uid != self._uids.get(name):
                wrong.append(f"node {name} is not the one that it was")
            if name not in self._reports.store:
                wrong.append(f"node {name} has no MachineConfigNode")
        return wrong

    async def news(self, seconds: float) -> None:
        """Until something happens from now on, or so much time has passed."""
        happened = asyncio.Event()
        self._waiting.add(happened)
        try:
            async with asyncio.timeout(seconds):
                await happened.wait()
        except TimeoutError:
            return
        finally:
            self._waiting.discard(happened)

    def _tell(self, *_: object) -> None:
        self._changed.set()
        for happened in self._waiting:
            happened.set()

    async def until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        """Raises Unavailable with what the nodes say."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            said = {n.name: n.metadata.annotations for n in self._nodes.store.values()}
            pools = {p.name: (p.spec.configuration.name, p.status) for p in self._pools.store.values()}
            raise Unavailable(f"{what} is not reached after {seconds:g} s: {said}; {pools}") from None
