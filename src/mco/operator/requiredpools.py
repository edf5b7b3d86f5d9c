"""Looks whether the required pools are where this version wants them (spec/operator.md 1.14)."""

from __future__ import annotations

from collections.abc import Sequence

from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.resources import MACHINE_CONFIGS
from mco.kube.client import Client
from mco.operator import lookup
from mco.plan.installation import poolvalidity, requiredpools
from mco.plan.installation.outcome import Waiting
from mco.plan.installation.poolvalidity import Expected, NoConfig


class RequiredPools:
    """Remembers which configurations are valid: rendered configs are not made anew under an old name."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._valid: dict[str, tuple[object, ...]] = {}

    async def gate(self, pools: Sequence[MachineConfigPool], expected: Expected) -> Waiting | None:
        """Raises Paused, and what the client raises."""
        problems = {
            pool.name: await self.problem(pool, expected) for pool in pools if requiredpools.required(pool)
        }
        return requiredpools.gate(pools, lambda pool: problems[pool.name])

    async def problem(self, pool: MachineConfigPool, expected: Expected) -> str:
        """Why a pool's configuration is not this version's; empty when it is."""
        status = pool.status.configuration
        sources = tuple(source.name for source in status.source or ())
        key = (pool.spec.configuration.name, status.name, sources, expected)
        if self._valid.get(pool.name) == key:
            return ""
        found = await self._read({pool.spec.configuration.name, *sources})

        def lookup(name: str) -> MachineConfig:
            config = found.get(name)
            if config is None:
                raise NoConfig(name)
            return config

        problem = poolvalidity.problem(pool, lookup, expected)
        if not problem:
            self._valid[pool.name] = key
        return problem

    async def _read(self, wanted: set[str]) -> dict[str, MachineConfig]:
        found = {}
        for name in filter(None, wanted):
            config = await lookup.found(self._client, MACHINE_CONFIGS, name)
            if config is not None:
                found[name] = config
        return found
