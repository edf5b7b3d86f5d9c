"""The operator as a process: install, then keep reports and policies right for as long as it runs."""

from __future__ import annotations

import asyncio
from functools import partial

from mco.api import names, resources
from mco.api.machineconfiguration import MachineConfiguration
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.kube.reconcile import Reconciler
from mco.operator import install
from mco.operator.objects import Installation
from mco.operator.reports import Reports
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.operator")


async def run(client: Client, installation: Installation, clock: Clock) -> None:
    """Runs until cancelled."""
    await install.install(client, installation, clock)
    _log.info("installation is complete")
    nodes = Informer(client, resources.NODES)
    reports = Informer(client, resources.MACHINE_CONFIG_NODES)
    pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
    settings = Informer(client, resources.MACHINE_CONFIGURATIONS)
    keeper = Reconciler("reports", Reports(client, nodes, reports, pools).reconcile, workers=4)
    merger = Reconciler("policies", partial(_policies, client, settings))

    def pools_changed(*_: object) -> None:
        for name in nodes.store:
            keeper.enqueue(name)

    nodes.add_handler(keeper.changed)
    reports.add_handler(keeper.changed)
    pools.add_handler(pools_changed)
    settings.add_handler(merger.changed)
    await asyncio.gather(*(part.run() for part in (nodes, reports, pools, settings, keeper, merger)))


async def _policies(client: Client, settings: Informer[MachineConfiguration], name: str) -> float | None:
    configuration = settings.store.get(name)
    if configuration is not None and name == names.MACHINE_CONFIGURATION:
        await install.policies(client, configuration)
    return None
