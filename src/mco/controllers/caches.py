"""The caches that the controllers of one process share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.kube.client import Client
from mco.kube.informer import Informer


class Caches:
    """Informers on what controllers decide from; `run` keeps them filled until cancelled."""

    def __init__(self, client: Client) -> None:
        self.pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self.configs = Informer(client, resources.MACHINE_CONFIGS, transform=_without_rendered_payload)
        self.nodes = Informer(client, resources.NODES)
        self.reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self.controller_configs = Informer(client, resources.CONTROLLER_CONFIGS)
        self.settings = Informer(client, resources.MACHINE_CONFIGURATIONS)

    @property
    def _all(self) -> Iterable[Informer[Any]]:
        return (self.pools, self.configs, self.nodes, self.reports, self.controller_configs, self.settings)

    async def run(self) -> None:
        await asyncio.gather(*(informer.run() for informer in self._all))

    async def synced(self) -> None:
        await asyncio.gather(*(informer.synced() for informer in self._all))


def _without_rendered_payload(config: MachineConfig) -> MachineConfig:
    """A rendered config is as large as all its inputs together and is never an input itself; its name says
    what is in it. Whoever needs the bytes of one asks the API for it."""
    if not config.name.startswith(names.RENDERED_PREFIX) or config.metadata.labels:
        return msgspec.structs.replace(config, spec=_unpinned(config.spec))
    return msgspec.structs.replace(config, spec=MachineConfigSpec(os_image_url=config.spec.os_image_url))


def _unpinned(spec: MachineConfigSpec) -> MachineConfigSpec:
    """A raw slice keeps the whole message that it was cut from alive; a copy does not."""
    return msgspec.structs.replace(spec, config=msgspec.Raw(bytes(spec.config)))
