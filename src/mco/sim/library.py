"""What the simulated nodes of a process have in common: configs, policies, and decisions.

A thousand nodes in the same situation ask the same question. It is asked once of `plan/node`; the answer
is kept for the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfiguration import DisruptionPolicies
from mco.api.resources import MACHINE_CONFIGS, MACHINE_CONFIGURATIONS
from mco.base.errors import NotFound
from mco.kube.client import Client
from mco.plan.node.observation import Observation
from mco.plan.node.step import next_step
from mco.plan.node.steps import AnyStep

_KEPT = 8
"""Configs; a fleet is between two of them most of the time."""


class Library:
    """`configs` and `missing` are what observations hold."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.configs: dict[str, MachineConfig] = {}
        self.missing: dict[str, str] = {}
        self._policies: dict[str, DisruptionPolicies] = {}
        self._asking: dict[Hashable, asyncio.Future[Any]] = {}
        self._decisions: dict[Hashable, AnyStep] = {}

    async def fetch(self, config: str) -> None:
        """Raises Unavailable."""
        if config not in self.configs:
            await self._once(("config", config), lambda: self._fetch(config))

    async def _fetch(self, config: str) -> None:
        try:
            self.configs[config] = await self._client.get(MACHINE_CONFIGS, config)
        except NotFound as error:
            self.missing[config] = str(error)
        if len(self.configs) > _KEPT:
            self.configs.pop(next(iter(self.configs)))
            self._decisions.clear()

    async def policies(self, config: str) -> DisruptionPolicies | None:
        """The policies at the beginning of the way to a config; None as long as they are not computed."""
        if config not in self._policies:
            await self._once(("policies", config), lambda: self._fetch_policies(config))
        return self._policies.get(config)

    async def _fetch_policies(self, config: str) -> None:
        try:
            found = await self._client.get(MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION)
        except NotFound:
            return
        if found.metadata.generation == found.status.observed_generation:
            self._policies[config] = found.status.node_disruption_policy_status.cluster_policies

    def retry(self) -> None:
        """What was missing may be there now."""
        self.missing.clear()

    def decide(self, seen: Observation) -> AnyStep:
        key = (
            seen.node,
            seen.disk,
            seen.verified,
            seen.started,
            seen.waited,
            id(seen.policies),
            tuple(seen.configs),
            tuple(seen.missing),
        )
        if key not in self._decisions:
            if len(self._decisions) > 1000:
                self._decisions.clear()
            self._decisions[key] = next_step(seen)
        return self._decisions[key]

    async def _once(self, key: Hashable, ask: Callable[[], Awaitable[None]]) -> None:
        """One request for all who want the same at the same time."""
        if key not in self._asking:
            task = asyncio.ensure_future(ask())
            self._asking[key] = task
            task.add_done_callback(lambda _: self._asking.pop(key))
        await asyncio.shield(self._asking[key])
