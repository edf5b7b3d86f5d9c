"""The operator as a process: install, then keep the installation whole for as long as it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mco.api import names
from mco.api.core import Pod
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.api.resources import CONTROLLER_CONFIGS
from mco.kube.client import Client
from mco.kube.events import Recorder
from mco.kube.reconcile import Reconciler, RetryPolicy
from mco.operator import install, lookup
from mco.operator.caches import Caches
from mco.operator.objects import Installation
from mco.operator.reports import Reports
from mco.operator.sync import Sync
from mco.payload.manifest import Manifest
from mco.plan.installation.holds import daemon_hold
from mco.plan.pool import wakeups
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger
from mco.runtime.supervise import supervise

_log = Logger("mco.operator")
_INSTALLATION = "installation"
_INTERVAL = 1.0
"""Least seconds between two passes, as the original looks at its pools."""


async def run(
    client: Client, installation: Installation, clock: Clock, operands: Sequence[Manifest] = ()
) -> None:
    """Runs until cancelled. `operands` are the components that run in the cluster."""
    _log.info("operator", version=installation.version, commit=installation.commit)
    await install.install(client, installation)
    bring_up = not await _configured(client)
    events = Recorder(client, "machineconfigoperator", names.NAMESPACE, clock=clock)
    caches = Caches(client, components=bool(operands))
    sync = Sync(client, installation, caches, events, clock, operands=operands, bring_up=bring_up)
    try:
        await _Operator(client, installation, caches, sync).run()
    finally:
        await events.close()


async def _configured(client: Client) -> bool:
    return await lookup.found(client, CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG) is not None


class _Operator:
    """What is looked at again after which change."""

    def __init__(self, client: Client, installation: Installation, caches: Caches, sync: Sync) -> None:
        self._image = installation.image
        self._caches = caches
        reports = Reports(client, caches.nodes, caches.reports, caches.pools, self._hold)
        self._reporting = Reconciler("reports", reports.reconcile, workers=4)
        self._syncing = Reconciler(_INSTALLATION, sync.run, policy=RetryPolicy(interval=_INTERVAL))
        caches.nodes.add_handler(self._reporting.changed)
        caches.nodes.add_handler(self._came_or_went)
        caches.reports.add_handler(self._reporting.changed)
        caches.reports.add_handler(self._came_or_went)
        caches.pools.add_handler(self._pool_changed)
        caches.settings.add_handler(self._changed)
        caches.configs.add_handler(self._changed)
        if caches.daemons is not None:
            caches.daemons.add_handler(self._daemon_changed)

    async def run(self) -> None:
        parts = dict(self._caches.parts())
        parts |= {loop.name: self._after_sync(loop) for loop in (self._reporting, self._syncing)}
        self._syncing.enqueue(_INSTALLATION)
        await supervise(parts, signals=False)

    def _after_sync(self, loop: Reconciler) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self._caches.synced()
            await loop.run()

        return run

    def _changed(self, *_: Object | None) -> None:
        self._syncing.enqueue(_INSTALLATION)

    def _came_or_went(self, old: Object | None, new: Object | None) -> None:
        if old is None or new is None:
            self._changed()

    def _pool_changed(self, old: MachineConfigPool | None, new: MachineConfigPool | None) -> None:
        self._changed()
        if wakeups.all_pools(old, new):
            for name in self._caches.nodes.store:
                self._reporting.enqueue(name)

    def _daemon_changed(self, old: Pod | None, new: Pod | None) -> None:
        self._changed()
        for node in {pod.spec.node_name for pod in (old, new) if pod and pod.spec.node_name}:
            self._reporting.enqueue(node)

    def _hold(self, node: str) -> str:
        """Why the node cannot take a config from its own daemon, where those run in the cluster."""
        if self._caches.daemons is None:
            return ""
        pods = self._caches.daemons.store.index("node", node)
        staying = [pod for pod in pods if not pod.metadata.deletion_timestamp]
        return daemon_hold(next(iter(staying), None), self._image)
