"""What the controllers remember for Prometheus: when they were last done with what. Everything else is read
off the caches when somebody asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.controllers.caches import Caches
from mco.controllers.drain import DrainController
from mco.plan.metrics import Family
from mco.plan.pool import metrics
from mco.runtime.clock import Clock

Reconcile = Callable[[str], Awaitable[float | None]]


class Metrics:
    """`families` is what a `runtime.metrics.Page` asks for."""

    def __init__(self, caches: Caches, drain: DrainController, clock: Clock) -> None:
        self._caches = caches
        self._drain = drain
        self._clock = clock
        self._passes: dict[str, float] = {}
        self._targets: dict[str, float] = {}
        self._drains: dict[str, tuple[str, float]] = {}
        caches.pools.add_handler(self._pool_changed)
        caches.nodes.add_handler(self._node_changed)

    def noting(self, reconcile: Reconcile) -> Reconcile:
        """A reconciliation of pools whose successes are noted."""

        async def noted(pool: str) -> float | None:
            again = await reconcile(pool)
            if pool in self._caches.pools.store:
                self._passes[pool] = self._now()
            return again

        return noted

    def families(self) -> Iterator[Family]:
        """The objects are taken at once, and counted when the families are asked for: in another thread,
        because there may be thousands of nodes."""
        caches = self._caches
        pools = tuple(caches.pools.store.values())
        rendered = {pool.spec.configuration.name for pool in pools}
        configs = {name: caches.configs.store.get(name) for name in rendered}
        return metrics.families(
            metrics.Fleet(
                pools=pools,
                nodes=tuple(caches.nodes.store.values()),
                configs={name: config for name, config in configs.items() if config is not None},
                controller=caches.controller_configs.store.get(names.CONTROLLER_CONFIG),
                settings=caches.settings.store.get(names.MACHINE_CONFIGURATION),
                failing=frozenset(self._drain.failing),
                syncs=metrics.Syncs(
                    passes=dict(self._passes), targets=dict(self._targets), drains=dict(self._drains)
                ),
            )
        )

    def _pool_changed(self, old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
        if old is not None and new is None:
            self._passes.pop(old.name, None)
            self._targets.pop(old.name, None)
        elif old is not None and new is not None and _target(old) != _target(new):
            self._targets[new.name] = self._now()

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is not None and new is None:
            self._drains.pop(old.name, None)
        elif old is not None and new is not None and _fulfilled(old) != _fulfilled(new):
            self._drains[new.name] = (_fulfilled(new).partition("-")[0], self._now())

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _target(pool: MachineConfigPool) -> str:
    return pool.spec.configuration.name


def _fulfilled(node: Node) -> str:
    return node.metadata.annotation(names.LAST_APPLIED_DRAIN) or ""
