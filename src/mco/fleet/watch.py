"""Follows pools and nodes while a fleet comes up, and waits for what they should become."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from mco.api import resources
from mco.base.errors import Unavailable
from mco.fleet.hosts import Hosts, Phase
from mco.fleet.screen import Row, Screen
from mco.fleet.view import FleetView, NodeView, view
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.lab.events import State


class News:
    """Tells one waiter that something changed; made before anything that can change."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def tell(self, *_: object) -> None:
        self._changed.set()

    def forget(self) -> None:
        self._changed.clear()

    async def wait(self) -> None:
        await self._changed.wait()


_INTERVAL = 0.1
_PER_NODE = 0.0002
"""Seconds between two looks at the fleet, and what each of its nodes adds to them."""


class Watch:
    """Joins what the API says of a node with what its machine is doing; `pools` are machines' pools. Nodes
    without a machine here, as simulated ones, are summed up."""

    def __init__(
        self, client: Client, hosts: Hosts, pools: Mapping[str, str], screen: Screen, news: News
    ) -> None:
        self._pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._nodes = Informer(client, resources.NODES)
        self._hosts = hosts
        self._machines = pools
        self._screen = screen
        self._news = news
        self._pools.add_handler(news.tell)
        self._nodes.add_handler(news.tell)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Watch]:
        tasks = [asyncio.create_task(informer.run()) for informer in (self._pools, self._nodes)]
        try:
            await asyncio.gather(self._pools.synced(), self._nodes.synced())
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def fleet(self) -> FleetView:
        return view(self._pools.store.values(), self._nodes.store.values())

    def sources(self, pool: str) -> set[str]:
        """The MachineConfigs that the pool's present target was made of."""
        found = self._pools.store.get(pool)
        return {s.name for s in (found.spec.configuration.source or ())} if found else set()

    async def until(self, reached: Callable[[FleetView], bool], what: str, timeout: float = 600.0) -> None:
        """Shows every change until `reached`. Raises Unavailable naming `what` and why the rest waits."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    self._news.forget()
                    fleet = self.fleet()
                    self._screen.show(self._rows(fleet))
                    if reached(fleet):
                        return
                    await self._something_new()
        except TimeoutError:
            raise Unavailable(
                f"{what}: not reached after {timeout:g} s", hint="\n".join(blockers(self.fleet()))
            ) from None

    async def follow(self) -> None:
        """Shows every change until it is cancelled."""
        while True:
            self._news.forget()
            self._screen.show(self._rows(self.fleet()))
            await self._something_new()

    async def _something_new(self) -> None:
        """What happens shortly after one another is shown at once."""
        await self._news.wait()
        await asyncio.sleep(_INTERVAL + _PER_NODE * len(self._nodes.store))

    def _rows(self, fleet: FleetView) -> Iterable[Row]:
        nodes = {node.name: node for node in fleet.nodes}
        for name, pool in self._machines.items():
            yield row(name, pool, self._hosts.phase(name), nodes.get(name))
        yield from summaries(node for node in fleet.nodes if node.name not in self._machines)


def row(name: str, pool: str, phase: Phase, node: NodeView | None) -> Row:
    """A machine that is up speaks through its Node; one that is not, for itself."""
    up = phase.text == State.RUNNING.value
    text = _state(node) if node is not None and up else phase.text
    note = phase.note if not up else (node.reason or node.waiting if node else "")
    return Row(
        name=name,
        pool=node.pool if node and node.pool else pool,
        phase=text,
        config=node.desired if node else "",
        reboots=max(phase.boots - 1, 0),
        note=note.splitlines()[0][:100] if note else "",
    )


def summaries(nodes: Iterable[NodeView]) -> Iterable[Row]:
    """One row for each pool: how many nodes are in which state, and what is wrong with one of them."""
    by_pool: dict[str, list[NodeView]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool or "no pool", []).append(node)
    for pool, members in sorted(by_pool.items()):
        states = Counter("waiting" if node.waiting else _state(node) for node in members)
        failed = (f"{node.name}: {node.reason}" for node in members if node.reason)
        yield Row(
            name=f"{len(members)} nodes",
            pool=pool,
            phase=", ".join(f"{count} {text}" for text, count in sorted(states.items())),
            config=Counter(node.desired for node in members).most_common(1)[0][0],
            note=next(failed, "")[:100],
        )


def _state(node: NodeView) -> str:
    if node.state == "Done" and node.current != node.desired:
        return "targeted"
    return node.state or "joining"


def all_updated(fleet: FleetView, machines: Mapping[str, str]) -> bool:
    """Whether every pool has reached its target, with all the machines that belong to it. A pool without
    machines that cannot be rendered holds up nobody."""
    wanted = Counter(machines.values())
    return all(
        pool.config and pool.updated and not pool.updating and pool.machines == wanted[pool.name]
        for pool in fleet.pools
        if pool.name in wanted or (pool.config and not pool.degraded)
    )


def any_degraded(fleet: FleetView, machines: Mapping[str, str]) -> bool:
    """Whether a pool of these machines waits for a person."""
    return any(pool.degraded for pool in fleet.pools if pool.name in machines.values())


def all_running(hosts: Hosts, machines: Iterable[str]) -> bool:
    return all(hosts.phase(name).text == State.RUNNING.value for name in machines)


def blockers(fleet: FleetView) -> list[str]:
    """Why the fleet is not where it should be, one sentence each."""
    lines = [f"pool {p.name}: {p.message}" for p in fleet.pools if p.message]
    for node in fleet.nodes:
        why = node.reason or node.waiting
        if why:
            lines.append(f"node {node.name}: {why}")
    return lines
