"""The controllers as one process: shared caches, one reconciler each, until cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.controllers.caches import Caches
from mco.controllers.drain import DrainController
from mco.controllers.explain import Explainer, Waits
from mco.controllers.join import JoinController, node_of
from mco.controllers.masters import MastersController
from mco.controllers.metrics import Metrics
from mco.controllers.node import NO_POOL, NodeController
from mco.controllers.nodelife import NodeLifeController
from mco.controllers.prune import ALL, Collection, PruneController, concerns
from mco.controllers.render import RenderController
from mco.controllers.restore import RestoreController
from mco.kube.client import Client
from mco.kube.events import Recorder
from mco.kube.informer import Informer
from mco.kube.reconcile import Reconciler, RetryPolicy
from mco.pki.authority import Authority
from mco.plan.pool import wakeups
from mco.plan.pool.uses import User
from mco.render.checks import Versions
from mco.runtime import version
from mco.runtime.clock import Clock

Run = Callable[[], Awaitable[None]]


class Pace(msgspec.Struct, frozen=True):
    """Seconds. `settle`: how long inputs have to be quiet before a pool is rendered (the original waits 5);
    `interval`: the least time between two passes over one pool; `explain`: how long a node waits before its
    MachineConfigNode says why; `prune`: the least time between two looks at which configs are needed."""

    settle: float = 5.0
    interval: float = 0.1
    explain: float = 2.0
    prune: float = 2.0


class Controllers:
    """`parts` are what `runtime.supervise` runs. `authority` is the embedded API server's: with it, machines
    are let in and watched here; without it a Kubernetes does that. `collection`: which rendered configs stay,
    and whether the others are removed. `metrics`: what there is to tell about them."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        authority: Authority | None = None,
        pace: Pace | None = None,
        collection: Collection | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._pace = pace or Pace()
        self._recorders: list[Recorder] = []
        self._events = self._recorder("nodecontroller")
        self.caches = Caches(client)
        self.parts: dict[str, Run] = {"caches": self.caches.run}
        drain = DrainController(client, self.caches.nodes, self.caches.reports, self._events, clock)
        self.metrics = Metrics(self.caches, drain, clock)
        self._add_render()
        self._add_node()
        self._add_drain(drain)
        self._add_masters()
        self._add_prune(collection or Collection())
        if authority is not None:
            self._add_join(authority)
            self._add_node_life()

    def _add_render(self) -> None:
        events = self._recorder("rendercontroller")
        versions = Versions(raw=version.RAW, hash=version.commit())
        render = RenderController(self._client, self.caches, events, self._clock, versions)
        loop = Reconciler("render", render.reconcile, workers=2, policy=RetryPolicy(delay=self._pace.settle))
        self.caches.pools.add_handler(loop.changed)
        self.caches.configs.add_handler(lambda old, new: _enqueue(loop, render.affected(old, new)))
        self.caches.controller_configs.add_handler(lambda *_: _enqueue(loop, self.caches.pools.store))
        self._run(loop)
        self._add_restore(RestoreController(self._client, self.caches, render, events, self._clock))

    def _add_restore(self, restore: RestoreController) -> None:
        loop = Reconciler("restore", restore.reconcile)

        def user_changed(old: User | None, new: User | None) -> None:
            _enqueue(loop, restore.affected_by(old, new))

        self.caches.configs.add_handler(lambda old, new: _enqueue(loop, restore.affected(old, new)))
        for users in (self.caches.pools, self.caches.nodes, self.caches.reports):
            users.add_handler(user_changed)
        self.parts["config-copies"] = self._after_sync(restore.keep_tidy, None)
        self._run(loop)

    def _add_node(self) -> None:
        explainer = Explainer(self._client, self.caches.reports, self._clock)
        explaining = Reconciler("explain", explainer.reconcile, policy=RetryPolicy(delay=self._pace.explain))

        def explain(pool: str, waits: Waits) -> None:
            explainer.tell(pool, waits)
            explaining.enqueue(pool)

        def said(old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
            if new is not None:
                pool = new.spec.pool.name
                explaining.enqueue(NO_POOL if pool == names.NOT_YET_SET else pool)
            elif old is not None:
                explainer.forget(old.name)

        node = NodeController(self._client, self.caches, self._events, self._clock, explain)
        self._add_rollout(node)
        self.caches.reports.add_handler(said)
        self._run(explaining)

    def _add_rollout(self, node: NodeController) -> None:
        reconcile = self.metrics.noting(node.reconcile)
        loop = Reconciler("node", reconcile, workers=2, policy=RetryPolicy(interval=self._pace.interval))

        def pool_changed(old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
            if wakeups.all_pools(old, new):
                _enqueue(loop, self.caches.pools.store)
            elif new is not None:
                _enqueue(loop, wakeups.together({new.name}))

        def report_changed(old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
            if wakeups.by_report(old, new):
                pools = {report.spec.pool.name for report in (old, new) if report}
                _enqueue(loop, wakeups.together(pools))

        self.caches.pools.add_handler(pool_changed)
        self.caches.nodes.add_handler(lambda old, new: _enqueue(loop, node.affected(old, new)))
        self.caches.nodes.add_handler(node.announce)
        self.caches.reports.add_handler(report_changed)
        for cache in (self.caches.controller_configs, self.caches.settings):
            cache.add_handler(lambda *_: _enqueue(loop, self.caches.pools.store))
        self._run(loop)

    def _add_drain(self, drain: DrainController) -> None:
        loop = Reconciler("drain", drain.reconcile, workers=5)
        self.caches.nodes.add_handler(lambda old, new: _enqueue(loop, drain.affected(old, new)))
        self._run(loop)

    def _add_masters(self) -> None:
        masters = MastersController(self._client, self.caches.nodes, self._clock)
        loop = Reconciler("masters", masters.reconcile)
        self.caches.nodes.add_handler(lambda old, new: _enqueue(loop, masters.affected(old, new)))
        masters.schedulers.add_handler(lambda *_: _enqueue(loop, masters.all()))
        self.parts["schedulers"] = masters.follow
        self._run(loop)

    def _add_prune(self, collection: Collection) -> None:
        prune = PruneController(self._client, self.caches, self._clock, collection)
        loop = Reconciler("prune", prune.reconcile, policy=RetryPolicy(interval=self._pace.prune))

        def changed(old: Object | None, new: Object | None) -> None:
            if concerns(old, new):
                loop.enqueue(ALL)

        for cache in (self.caches.pools, self.caches.nodes, self.caches.reports, self.caches.configs):
            cache.add_handler(changed)
        prune.maps.add_handler(changed)
        self.parts["config-maps"] = prune.maps.run
        self._run(loop, after=prune.maps)

    def _add_join(self, authority: Authority) -> None:
        join = JoinController(self._client, self.caches.nodes, authority, self._events, self._clock)
        requests = Reconciler("join-requests", join.reconcile_request)
        roles = Reconciler("join-roles", join.reconcile_node)
        join.requests.add_handler(requests.changed)
        join.requests.add_handler(lambda _, new: _enqueue(roles, [node_of(new)] if new else []))
        self.caches.nodes.add_handler(roles.changed)
        self.parts["signing-requests"] = join.requests.run
        self._run(requests, roles, after=join.requests)

    def _add_node_life(self) -> None:
        life = NodeLifeController(self._client, self.caches.nodes, self._clock)
        loop = Reconciler("node-life", life.reconcile)
        self.caches.nodes.add_handler(loop.changed)
        life.leases.add_handler(lambda old, new: _enqueue(loop, {o.name for o in (old, new) if o}))
        self.parts["leases"] = life.leases.run
        self._run(loop, after=life.leases)

    async def close(self) -> None:
        """Writes the last events; to be called when the parts have ended."""
        for recorder in self._recorders:
            await recorder.close()

    def _recorder(self, component: str) -> Recorder:
        self._recorders.append(
            Recorder(self._client, f"machineconfigcontroller-{component}", names.NAMESPACE, clock=self._clock)
        )
        return self._recorders[-1]

    def _run(self, *loops: Reconciler, after: Informer[Any] | None = None) -> None:
        for loop in loops:
            self.parts[loop.name] = self._after_sync(loop.run, after)

    def _after_sync(self, part: Run, also: Informer[Any] | None) -> Run:
        """A controller decides nothing before it has seen everything once."""

        async def run() -> None:
            await self.caches.synced()
            if also is not None:
                await also.synced()
            await part()

        return run


def _enqueue(loop: Reconciler, keys: Iterable[str]) -> None:
    for key in keys:
        loop.enqueue(key)
