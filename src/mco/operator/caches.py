"""What the operator follows of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mco.api import names, resources
from mco.api.core import Pod
from mco.kube.client import Client
from mco.kube.informer import Informer

_DAEMONS = "k8s-app=machine-config-daemon"


class Caches:
    """`daemons` are the Pods of node daemons: None where somebody else runs those."""

    def __init__(self, client: Client, *, components: bool) -> None:
        self.nodes = Informer(client, resources.NODES)
        self.reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self.pools = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self.settings = Informer(client, resources.MACHINE_CONFIGURATIONS)
        self.configs = Informer(client, resources.CONTROLLER_CONFIGS)
        self.daemons: Informer[Pod] | None = None
        if components:
            self.daemons = Informer(
                client,
                resources.PODS,
                namespace=names.NAMESPACE,
                label_selector=_DAEMONS,
                indexers={"node": lambda pod: [pod.spec.node_name]},
            )

    @property
    def _all(self) -> tuple[Informer[Any], ...]:
        every = (self.nodes, self.reports, self.pools, self.settings, self.configs, self.daemons)
        return tuple(cache for cache in every if cache is not None)

    def parts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """What keeps them filled, by name."""
        return {f"cache-{number}": cache.run for number, cache in enumerate(self._all)}

    async def synced(self) -> None:
        """A Node that is not in the cache *yet* must not be taken for one that is gone."""
        await asyncio.gather(*(cache.synced() for cache in self._all))
