"""The operator as a process: install, then keep the installation whole for as long as it runs."""

from __future__ import annotations

from typing import Any

from mco.api import names, resources
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.kube.reconcile import Reconciler
from mco.operator import install
from mco.operator.objects import Installation
from mco.operator.reports import Reports
from mco.plan.pool import wakeups
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger
from mco.runtime.supervise import supervise

_log = Logger("mco.operator")
_INSTALLATION = "installation"


async def run(client: Client, installation: Installation, clock: Clock) -> None:
    """Runs until cancelled."""
    await install.install(client, installation, clock)
    _log.info("installation is complete")
    await _Operator(client, installation, clock).run()


class _Operator:
    def __init__(self, client: Client, installation: Installation, clock: Clock) -> None:
        self._client = client
        self._installation = installation
        self._clock = clock
        self._nodes = Informer(client, resources.NODES)
        self._reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self._pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._settings = Informer(client, resources.MACHINE_CONFIGURATIONS)
        self._configs = Informer(client, resources.CONTROLLER_CONFIGS)
        reports = Reports(client, self._nodes, self._reports, self._pools)
        self._reporting = Reconciler("reports", reports.reconcile, workers=4)
        self._settling = Reconciler(_INSTALLATION, self._settle)
        self._merging = Reconciler("policies", self._policies)
        self._nodes.add_handler(self._reporting.changed)
        self._reports.add_handler(self._reporting.changed)
        self._pools.add_handler(self._pool_changed)
        self._settings.add_handler(self._merging.changed)
        self._settings.add_handler(self._removed)
        self._configs.add_handler(lambda *_: self._settling.enqueue(_INSTALLATION))

    async def run(self) -> None:
        caches: tuple[Informer[Any], ...] = (
            self._nodes,
            self._reports,
            self._pools,
            self._settings,
            self._configs,
        )
        parts = {f"cache-{number}": cache.run for number, cache in enumerate(caches)}
        parts |= {
            loop.name: self._after(caches, loop) for loop in (self._reporting, self._settling, self._merging)
        }
        await supervise(parts, signals=False)

    def _after(self, caches: tuple[Informer[Any], ...], loop: Reconciler) -> Any:
        """A Node that is not in the cache *yet* must not be taken for one that is gone."""

        async def run() -> None:
            for cache in caches:
                await cache.synced()
            await loop.run()

        return run

    def _pool_changed(self, old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
        if wakeups.all_pools(old, new):
            for name in self._nodes.store:
                self._reporting.enqueue(name)
        self._removed(old, new)

    def _removed(self, _: Object | None, new: Object | None) -> None:
        if new is None:
            self._settling.enqueue(_INSTALLATION)

    async def _settle(self, _: str) -> float | None:
        await install.settle(self._client, self._installation, self._clock)
        return None

    async def _policies(self, name: str) -> float | None:
        configuration = self._settings.store.get(name)
        if configuration is not None and name == names.MACHINE_CONFIGURATION:
            await install.policies(self._client, configuration)
        return None
