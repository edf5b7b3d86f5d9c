"""The controllers as one process: shared caches, one reconciler each, until cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from mco.api import names
from mco.controllers.caches import Caches
from mco.controllers.drain import DrainController
from mco.controllers.join import JoinController
from mco.controllers.node import NodeController
from mco.controllers.nodelife import NodeLifeController
from mco.controllers.render import RenderController
from mco.kube.client import Client
from mco.kube.events import Recorder
from mco.kube.reconcile import Reconciler, RetryPolicy
from mco.pki.authority import Authority
from mco.render.checks import Versions
from mco.runtime import version
from mco.runtime.clock import Clock

Run = Callable[[], Awaitable[None]]


class Pace(msgspec.Struct, frozen=True):
    """Seconds. `settle`: how long inputs have to be quiet before a pool is rendered (the original waits 5);
    `interval`: the least time between two passes over one pool."""

    settle: float = 5.0
    interval: float = 0.1


class Controllers:
    """`parts` are what `runtime.supervise` runs. `authority` is the embedded API server's: with it, machines
    are let in and watched here; without it a Kubernetes does that."""

    def __init__(
        self, client: Client, clock: Clock, *, authority: Authority | None = None, pace: Pace | None = None
    ) -> None:
        self._client = client
        self._clock = clock
        self._pace = pace or Pace()
        self._recorder = Recorder(client, "machineconfigcontroller-nodecontroller", names.NAMESPACE)
        self.caches = Caches(client)
        self.parts: dict[str, Run] = {"caches": self.caches.run}
        self._add_render()
        self._add_node()
        self._add_drain()
        if authority is not None:
            self._add_join(authority)
            self._add_node_life()

    def _add_render(self) -> None:
        recorder = Recorder(self._client, "machineconfigcontroller-rendercontroller", names.NAMESPACE)
        versions = Versions(raw=version.RAW, hash=version.commit())
        render = RenderController(self._client, self.caches, recorder, self._clock, versions)
        loop = Reconciler("render", render.reconcile, workers=2, policy=RetryPolicy(delay=self._pace.settle))
        self.caches.pools.add_handler(loop.changed)
        self.caches.configs.add_handler(lambda old, new: _enqueue(loop, render.affected(old, new)))
        self.caches.controller_configs.add_handler(lambda *_: _enqueue(loop, self.caches.pools.store))
        self._run(loop)

    def _add_node(self) -> None:
        node = NodeController(self._client, self.caches, self._recorder, self._clock)
        loop = Reconciler("node", node.reconcile, workers=2, policy=RetryPolicy(interval=self._pace.interval))
        self.caches.pools.add_handler(loop.changed)
        self.caches.nodes.add_handler(lambda old, new: _enqueue(loop, node.affected(old, new)))
        self.caches.reports.add_handler(
            lambda old, new: _enqueue(loop, {o.spec.pool.name for o in (old, new) if o})
        )
        self.caches.controller_configs.add_handler(lambda *_: _enqueue(loop, self.caches.pools.store))
        self._run(loop)

    def _add_drain(self) -> None:
        drain = DrainController(self._client, self.caches.nodes, self._recorder, self._clock)
        loop = Reconciler("drain", drain.reconcile, workers=5)
        self.caches.nodes.add_handler(loop.changed)
        self._run(loop)

    def _add_join(self, authority: Authority) -> None:
        join = JoinController(self._client, self.caches.nodes, authority, self._recorder, self._clock)
        requests = Reconciler("join-requests", join.reconcile_request)
        roles = Reconciler("join-roles", join.reconcile_node)
        join.requests.add_handler(requests.changed)
        join.requests.add_handler(lambda _, new: _enqueue(roles, [join.node_of(new)] if new else []))
        self.caches.nodes.add_handler(roles.changed)
        self.parts["signing-requests"] = join.requests.run
        self.parts["join-tokens"] = join.secrets.run
        self._run(requests, roles)

    def _add_node_life(self) -> None:
        life = NodeLifeController(self._client, self.caches.nodes, self._clock)
        loop = Reconciler("node-life", life.reconcile)
        self.caches.nodes.add_handler(loop.changed)
        life.leases.add_handler(lambda old, new: _enqueue(loop, {o.name for o in (old, new) if o}))
        self.parts["leases"] = life.leases.run
        self._run(loop)

    def _run(self, *loops: Reconciler) -> None:
        for loop in loops:
            self.parts[loop.name] = self._after_sync(loop)

    def _after_sync(self, loop: Reconciler) -> Run:
        """A controller decides nothing before it has seen everything once."""

        async def run() -> None:
            await self.caches.synced()
            await loop.run()

        return run


def _enqueue(loop: Reconciler, keys: Iterable[str]) -> None:
    for key in keys:
        loop.enqueue(key)
