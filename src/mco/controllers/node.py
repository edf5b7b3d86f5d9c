"""Rolls a pool's config over its nodes and writes the pool's status (spec/node.md 3).

Every decision is made by `plan.pool`; this file observes, applies the plan, and writes the status once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput, MCOError
from mco.controllers.caches import Caches
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.events import Recorder
from mco.plan.pool import firstboot, nodes, rollout, status
from mco.plan.pool.membership import Membership
from mco.plan.pool.rollout import Change, Rollout
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.node")
PARALLEL_WRITES = 32


class NodeController:
    """`reconcile` takes a pool's name; `affected` says which pools an event about a node concerns."""

    def __init__(self, client: Client, caches: Caches, recorder: Recorder, clock: Clock) -> None:
        self._client = client
        self._caches = caches
        self._recorder = recorder
        self._clock = clock
        self._writes = asyncio.Semaphore(PARALLEL_WRITES)

    def affected(self, *versions: Node | None) -> set[str]:
        """The pools of a node before and after a change; all of them when nobody can tell."""
        membership = Membership(self._caches.pools.store.values())
        pools: set[str] = set()
        for node in filter(None, versions):
            try:
                pools.update(membership.pools(node))
            except InvalidInput:
                return set(self._caches.pools.store)
        return pools

    async def reconcile(self, name: str) -> float | None:
        """One pass over pool `name`: labels of newborn nodes, targets and taints, status."""
        pool = self._caches.pools.store.get(name)
        if pool is None:
            return None
        selector = pool.spec.node_selector
        if selector is not None and selector.empty:
            text = "This pool is selecting all nodes; an empty node selector is not supported"
            self._recorder.event(pool, "Warning", "SelectingAll", text)
            return None
        if not pool.spec.configuration.name:
            return None
        members = self._members(name)
        try:
            members = await self._label_newborn(members)
            await self._roll(pool, members)
        finally:
            await self._write_status(pool, members)
        return None

    def _members(self, name: str) -> list[Node]:
        membership = Membership(self._caches.pools.store.values())
        return membership.members(self._caches.nodes.store.values()).get(name, [])

    async def _label_newborn(self, members: list[Node]) -> list[Node]:
        """Gives nodes that were born in a custom pool its labels; they leave this pool with it."""
        owners = {
            config.name: refs[0].name
            for config in self._caches.configs.store.values()
            if (refs := config.metadata.owner_references)
        }
        leaving: set[str] = set()
        for node in members:
            born_in = firstboot.custom_pool(node, owners)
            custom = self._caches.pools.store.get(born_in or "")
            labels = firstboot.labels(custom) if custom else {}
            if labels:
                marks = {"labels": dict(labels), "annotations": {names.CUSTOM_POOL_LABELS_APPLIED: ""}}
                await self._client.patch(resources.NODES, node.name, {"metadata": marks})
                leaving.add(node.name)
        return [node for node in members if node.name not in leaving]

    async def _roll(self, pool: MachineConfigPool, members: Sequence[Node]) -> None:
        plan = rollout.plan(pool, members)
        writes = (self._write(plan.config, change) for change in plan.changes)
        results = await asyncio.gather(*writes, return_exceptions=True)
        self._announce(pool, plan)
        for error in results:
            if isinstance(error, BaseException) and not isinstance(error, ConflictError | NotFoundError):
                raise error

    async def _write(self, config: str, change: Change) -> None:
        """One patch per node, tied to the version it was decided on: whoever changed it meanwhile wins, and
        the change brings the next pass."""
        async with self._writes:
            if change.target:
                await self._aim_report(change.node.name, config)
            await self._client.patch(resources.NODES, change.node.name, node_patch(config, change))

    async def _aim_report(self, name: str, config: str) -> None:
        try:
            body = {"spec": {"configVersion": {"desired": config}}}
            await self._client.patch(resources.MACHINE_CONFIG_NODES, name, body)
        except MCOError as error:
            _log.warning("cannot set the desired config of a MachineConfigNode", node=name, error=str(error))

    def _announce(self, pool: MachineConfigPool, plan: Rollout) -> None:
        target = f"MachineConfig: {plan.config}"
        if len(plan.targets) == 1:
            text = f"Targeted node {plan.targets[0].name} to {target}"
        else:
            text = f"Set target for {len(plan.targets)} nodes to {target}"
        if plan.targets:
            self._recorder.event(pool, "Normal", "SetDesiredConfig", text)

    async def _write_status(self, pool: MachineConfigPool, members: Sequence[Node]) -> None:
        """Counts what the caches say now, the patches of this pass not yet included: their events bring the
        next pass."""
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            return
        reports = {n.name: r for n in members if (r := self._caches.reports.store.get(n.name))}
        certificates = controller.status.controller_certificates
        new = status.status(pool, members, reports, certificates, rfc3339(self._clock.now()))
        if new == pool.status:
            return
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": pool.metadata.resource_version},
            "status": status.as_patch(new),
        }
        await self._client.patch(resources.MACHINE_CONFIG_POOLS, pool.name, body, subresource="status")
        if new.configuration.name != pool.status.configuration.name:
            text = f"Pool {pool.name} has completed update to MachineConfig {new.configuration.name}"
            self._recorder.event(pool, "Normal", "Completed", text)


def node_patch(config: str, change: Change) -> dict[str, Any]:
    """Target and taint of one node as one merge patch."""
    node = change.node
    metadata: dict[str, Any] = {"resourceVersion": node.metadata.resource_version}
    if change.target:
        metadata["annotations"] = {names.DESIRED_CONFIG: config, names.DESIRED_IMAGE: None}
    if change.taint is None:
        return {"metadata": metadata}
    taints = [taint for taint in node.spec.taints or () if taint.key != names.UPDATE_TAINT]
    if change.taint:
        taints.append(nodes.UPDATE_TAINT)
    return {"metadata": metadata, "spec": {"taints": [msgspec.to_builtins(t) for t in taints] or None}}
