"""A MachineConfig for every pool whose image was built before there was a cluster (spec/operator.md 1.10)."""

from __future__ import annotations

from collections.abc import Iterable

from mco.api.machineconfig import MachineConfig
from mco.api.resources import MACHINE_CONFIGS, MACHINE_OS_CONFIGS
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import Unreachable, describe
from mco.operator import ensure, lookup
from mco.operator.sources import LOOK_AGAIN
from mco.plan.installation import prebuilt
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.operator")


class PreBuiltImages:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept_at: float | None = None

    async def keep(self, pools: Iterable[str]) -> None:
        """Now and then. Pools are updated without it, too: a failure is only logged."""
        now = self._clock.monotonic()
        if self._kept_at is not None and now - self._kept_at < LOOK_AGAIN:
            return
        self._kept_at = now
        try:
            await self._keep(pools)
        except Unreachable:
            raise
        except MCOError as error:
            _log.warning("MachineConfigs of pre-built images are not kept", **describe(error))

    async def _keep(self, pools: Iterable[str]) -> None:
        configs = (await self._client.list(MACHINE_OS_CONFIGS)).items
        named = {config.spec.machine_config_pool.name for config in configs}
        found: dict[str, MachineConfig] = {}
        for pool in sorted({*pools, *named}):
            config = await lookup.found(self._client, MACHINE_CONFIGS, prebuilt.name(pool))
            if config is not None:
                found[pool] = config
        made = prebuilt.decide(configs, {pool: config.spec.os_image_url for pool, config in found.items()})
        for sentence in made.lost:
            _log.warning(sentence)
        for pool, image in made.images.items():
            body = prebuilt.machine_config(pool, image)
            await ensure.exists(self._client, MACHINE_CONFIGS, body, found.get(pool))
        for pool in made.unneeded:
            meta = found[pool].metadata
            await self._client.delete(
                MACHINE_CONFIGS, meta.name, uid=meta.uid, resource_version=meta.resource_version
            )
