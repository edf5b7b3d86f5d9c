"""Rolls a pool's config over its nodes and writes the pool's status (spec/node.md 3).

Every decision is made by `plan.pool`; this file observes, applies the plan, and writes the status once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput, MCOError
from mco.controllers.caches import Caches
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.events import EventSink
from mco.kube.requests import PatchKind
from mco.plan.pool import firstboot, nodes, rollout, status, wakeups
from mco.plan.pool.membership import Memberships
from mco.plan.pool.rollout import Change
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.node")
PARALLEL_WRITES = 32


class NodeController:
    """`reconcile` takes a pool's name; `affected` says which pools an event about a node concerns.

    A pass sees what earlier passes wrote even before the cache does: deciding on an older view could send off
    one node more than `maxUnavailable` allows."""

    def __init__(self, client: Client, caches: Caches, events: EventSink, clock: Clock) -> None:
        self._client = client
        self._caches = caches
        self._events = events
        self._clock = clock
        self._memberships = Memberships()
        self._written: dict[str, Node] = {}
        self._writes = asyncio.Semaphore(PARALLEL_WRITES)

    def affected(self, old: Node | None, new: Node | None) -> set[str]:
        """The pools of a node before and after a change; all of them when nobody can tell, none when it said
        nothing new."""
        if old is not None and new is None:
            self._written.pop(old.name, None)
        if not wakeups.by_node(old, new):
            return set()
        membership = self._memberships.by(self._caches.pools.store.values())
        pools: set[str] = set()
        for node in filter(None, (old, new)):
            try:
                pools.update(membership.pools(node))
            except InvalidInput:
                return set(self._caches.pools.store)
        return pools

    def announce(self, old: Node | None, new: Node | None) -> None:
        """What the daemons of the control plane say is told as events of its pool."""
        master = self._caches.pools.store.get(names.MASTER)
        if master is None or old is None or new is None:
            return
        sentences = wakeups.protocol_changes(old, new)
        if sentences and names.MASTER in self.affected(old, new):
            for sentence in sentences:
                self._events.event(master, "Normal", "AnnotationChange", sentence)

    async def reconcile(self, name: str) -> float | None:
        """One pass over pool `name`: labels of newborn nodes, targets and taints, status."""
        pool = self._caches.pools.store.get(name)
        if pool is None:
            return None
        selector = pool.spec.node_selector
        if selector is not None and selector.empty:
            text = "This machineconfigpool is selecting all nodes. A non-empty selector is required."
            self._events.event(pool, "Warning", "SelectingAll", text)
            return None
        if not pool.spec.configuration.name:
            return None
        members = self._members(name)
        newborn = self._newborn(members)
        try:
            labelled = await self._label(newborn)
            members = [node for node in members if node.name not in labelled]
            await self._roll(pool, [node for node in members if node.name not in newborn])
        except MCOError:
            await self._write_status(pool, members)
            raise
        await self._write_status(pool, members)
        return None

    def _members(self, pool: str) -> list[Node]:
        membership = self._memberships.by(self._caches.pools.store.values())
        return membership.members(self._newest(n) for n in self._caches.nodes.store.values()).get(pool, [])

    def _newest(self, cached: Node) -> Node:
        written = self._written.get(cached.name)
        if written is None:
            return cached
        if written.metadata.uid == cached.metadata.uid and _version(written) > _version(cached):
            return written
        del self._written[cached.name]
        return cached

    def _newborn(self, members: Sequence[Node]) -> dict[str, tuple[Node, MachineConfigPool]]:
        """Nodes that were born in a custom pool and do not have its labels yet."""
        found = {}
        for node in members:
            born_in = firstboot.custom_pool(node, self._owner)
            custom = self._caches.pools.store.get(born_in) if born_in else None
            if custom is not None:
                found[node.name] = node, custom
        return found

    async def _label(self, newborn: Mapping[str, tuple[Node, MachineConfigPool]]) -> set[str]:
        """Labels them, paused or not: it changes nothing on the machine. Returns those that left with it; the
        labels of the others cannot be derived, they stay where they are until somebody labels them."""
        labelled = set()
        for node, custom in newborn.values():
            if labels := firstboot.labels(custom):
                marks = {"labels": dict(labels), "annotations": {names.CUSTOM_POOL_LABELS_APPLIED: ""}}
                await self._patch(node, {"metadata": marks})
                labelled.add(node.name)
        return labelled

    def _topology(self) -> str:
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        infra = controller.spec.infra if controller else None
        return infra.status.control_plane_topology if infra else ""

    def _owner(self, config: str) -> str | None:
        found = self._caches.configs.store.get(config)
        owners = found.metadata.owner_references if found else None
        return owners[0].name if owners else None

    async def _roll(self, pool: MachineConfigPool, members: Sequence[Node]) -> None:
        plan = rollout.plan(pool, members, self._topology())
        writes = (self._write(plan.config, change) for change in plan.changes)
        results = await asyncio.gather(*writes, return_exceptions=True)
        targeted = [
            change.node.name
            for change, result in zip(plan.changes, results, strict=True)
            if change.target and result is None
        ]
        self._announce_targets(pool, plan.config, targeted)
        for error in results:
            if isinstance(error, BaseException) and not isinstance(error, ConflictError | NotFoundError):
                raise error

    async def _write(self, config: str, change: Change) -> None:
        async with self._writes:
            if change.target:
                await self._aim_report(change.node.name, config)
            await self._patch(change.node, node_patch(config, change))

    async def _patch(self, node: Node, body: dict[str, Any]) -> None:
        """Ties the patch to the version that it was decided on: whoever changed the node meanwhile wins, and
        that change brings the next pass."""
        body["metadata"]["resourceVersion"] = node.metadata.resource_version
        self._written[node.name] = await self._client.patch(resources.NODES, node.name, body)

    async def _aim_report(self, name: str, config: str) -> None:
        """The MachineConfigNode shows where its node is going; it is not what moves it."""
        report = self._caches.reports.store.get(name)
        if report is None or report.spec.config_version.desired == config:
            return
        try:
            await self._client.patch(
                resources.MACHINE_CONFIG_NODES, name, report_patch(report, config), kind=PatchKind.JSON
            )
        except MCOError as error:
            _log.warning("cannot set the desired config of a MachineConfigNode", node=name, error=str(error))

    def _announce_targets(self, pool: MachineConfigPool, config: str, targeted: Sequence[str]) -> None:
        target = f"MachineConfig: {config}"
        if len(targeted) == 1:
            text = f"Targeted node {targeted[0]} to {target}"
        else:
            text = f"Set target for {len(targeted)} nodes to {target}"
        if targeted:
            self._events.event(pool, "Normal", "SetDesiredConfig", text)

    async def _write_status(self, pool: MachineConfigPool, members: Sequence[Node]) -> None:
        """Counts the members as they are after this pass."""
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            # Its arrival brings every pool here again.
            return
        members = [self._newest(node) for node in members]
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
            self._events.event(pool, "Normal", "Completed", text)


def node_patch(config: str, change: Change) -> dict[str, Any]:
    """Target, taint and topology of one node as one merge patch."""
    annotations: dict[str, Any] = {}
    if change.target:
        annotations = {names.DESIRED_CONFIG: config, names.DESIRED_IMAGE: None}
    if change.topology:
        annotations[names.CONTROL_PLANE_TOPOLOGY] = change.topology
    body: dict[str, Any] = {"metadata": {"annotations": annotations}}
    if change.taint is not None:
        body["spec"] = {"taints": _taints(change.node, change.taint)}
    return body


def report_patch(report: MachineConfigNode, config: str) -> list[dict[str, Any]]:
    """A JSON patch that holds only as long as nobody else has set another target. Its daemon writes the
    report's status all the time, so that the object's version would hardly ever be the one that was seen."""
    path = "/spec/configVersion/desired"
    return [
        {"op": "test", "path": path, "value": report.spec.config_version.desired},
        {"op": "replace", "path": path, "value": config},
    ]


def _taints(node: Node, wanted: bool) -> list[dict[str, Any]] | None:
    kept = [taint for taint in node.spec.taints or () if not nodes.is_update_taint(taint)]
    if wanted:
        kept.append(nodes.UPDATE_TAINT)
    return [msgspec.to_builtins(taint) for taint in kept] or None


def _version(node: Node) -> int:
    """Versions of one object of one server can be compared; what is no number is never newer."""
    version = node.metadata.resource_version
    return int(version) if version.isdigit() else 0
