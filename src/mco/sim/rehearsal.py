"""A rollout in virtual time: the planner of pools and simulated nodes, without a server and without waiting.

`rehearse` answers how long a rollout takes, how many nodes are away at the same time, and how often each
reboots, when drains, updates and reboots take as long as a script says. Hours pass in seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.resources import MACHINE_CONFIG_NODES, MACHINE_CONFIGS, MACHINE_CONFIGURATIONS, NODES
from mco.kube.client import Client
from mco.plan.node import policies
from mco.plan.node.observation import Annotations, view
from mco.plan.pool import rollout
from mco.plan.pool.nodes import Standing, standing
from mco.runtime import virtual
from mco.runtime.virtual import VirtualClock
from mco.sim.library import Library
from mco.sim.memory import Memory
from mco.sim.node import SimulatedNode
from mco.sim.script import Script

_INTERVAL = 0.1
"""Seconds from a change to the pass that sees it, as the controllers keep them apart."""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """`seconds` until every node is done, None when that did not happen within `limit`. `away`: how many
    nodes were not available at the same time, at most. `failing`: nodes that gave up, at the end."""

    seconds: float | None
    away: int
    boots: dict[str, int]
    failing: tuple[str, ...]
    writes: int


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """`old` and `new` are rendered MachineConfigs as JSON; the pool's target is `new`. `limit` in seconds."""

    pool: MachineConfigPool
    nodes: Sequence[str]
    old: dict[str, Any]
    new: dict[str, Any]
    script: Script
    limit: float = 7 * 86400.0


def rehearse(scene: Scene) -> Rehearsal:
    """Runs it on a loop of its own."""
    return virtual.run(_Stage(scene).play())


class _Stage:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._memory = Memory()
        self._client = Client(self._memory)
        self._clock = VirtualClock()
        self._changed = asyncio.Event()
        self._draining: set[asyncio.Task[None]] = set()
        self._members: dict[str, Standing] = {}
        self._away: set[str] = set()
        self._most_away = 0
        self._fill()

    def _fill(self) -> None:
        scene, memory = self._scene, self._memory
        for config in (scene.old, scene.new):
            memory.add(MACHINE_CONFIGS, config)
        computed = msgspec.to_builtins(policies.DEFAULT)
        memory.add(
            MACHINE_CONFIGURATIONS,
            {
                "metadata": {"name": names.MACHINE_CONFIGURATION, "generation": 1},
                "status": {
                    "observedGeneration": 1,
                    "nodeDisruptionPolicyStatus": {"clusterPolicies": computed},
                },
            },
        )
        config = scene.old["metadata"]["name"]
        for name in scene.nodes:
            annotations = {
                names.CURRENT_CONFIG: config,
                names.DESIRED_CONFIG: config,
                names.STATE: names.STATE_DONE,
            }
            memory.add(NODES, {"metadata": {"name": name, "annotations": annotations}})
            memory.add(
                MACHINE_CONFIG_NODES,
                {"metadata": {"name": name}, "spec": {"configVersion": {"desired": config}}},
            )

    async def play(self) -> Rehearsal:
        scene = self._scene
        library = Library(self._client)
        recorded = scene.old["metadata"]["name"]
        actors = [
            SimulatedNode(self._client, library, name, scene.script, self._clock, recorded=recorded)
            for name in scene.nodes
        ]
        for name in scene.nodes:
            self._memory.follow(NODES, name, self._node_changed)
        lives = [asyncio.create_task(actor.live(self._attached)) for actor in actors]
        seconds: float | None = None
        try:
            async with asyncio.timeout(scene.limit):
                await self._direct()
            seconds = self._clock.monotonic()
        except TimeoutError:
            pass
        finally:
            await _end([*lives, *self._draining])
        return Rehearsal(
            seconds=seconds,
            away=self._most_away,
            boots={actor.name: actor.boots - 1 for actor in actors},
            failing=tuple(member.name for member in self._members.values() if member.failing),
            writes=self._memory.writes,
        )

    async def _direct(self) -> None:
        """Plans again after every change, until everybody is where the pool wants it."""
        pool, config = self._scene.pool, self._scene.pool.spec.configuration.name
        while True:
            self._changed.clear()
            if all(member.done_for(config) for member in self._members.values()):
                return
            for node in rollout.plan(pool, self._members.values()).targets:
                self._memory.patch(
                    NODES, node.name, {"metadata": {"annotations": {names.DESIRED_CONFIG: config}}}
                )
            await self._changed.wait()
            await self._clock.sleep(_INTERVAL)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        self._changed.set()
        if new is None:
            return
        member = self._members[new.name] = standing(new)
        (self._away.add if member.unavailable else self._away.discard)(new.name)
        self._most_away = max(self._most_away, len(self._away))
        seen = view(new)
        if seen.drain_pending and (old is None or view(old).desired_drain != seen.desired_drain):
            task = asyncio.ensure_future(self._answer(new.name, seen))
            self._draining.add(task)
            task.add_done_callback(self._draining.discard)

    async def _answer(self, name: str, seen: Annotations) -> None:
        """In place of the drain controller, and of the pods that it waits for."""
        cordon = seen.desired_drain.startswith("drain-")
        if cordon:
            self._memory.patch(NODES, name, {"spec": {"unschedulable": True}})
            await self._clock.sleep(self._scene.script.fate(name, seen.desired).drain)
        answered = {names.LAST_APPLIED_DRAIN: seen.desired_drain}
        body = {"metadata": {"annotations": answered}, "spec": {"unschedulable": cordon or None}}
        self._memory.patch(NODES, name, body)

    @contextlib.asynccontextmanager
    async def _attached(self, node: SimulatedNode) -> AsyncIterator[None]:
        self._memory.follow(NODES, node.name, node.saw_node)
        self._memory.follow(MACHINE_CONFIG_NODES, node.name, node.saw_report)
        try:
            yield
        finally:
            self._memory.leave(NODES, node.name, node.saw_node)
            self._memory.leave(MACHINE_CONFIG_NODES, node.name, node.saw_report)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Raises what one of them failed with."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
