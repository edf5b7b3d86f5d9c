"""Rolls a pool's config over its nodes and writes the pool's status (spec/node.md 3).

Every decision is made by `plan.pool`; this file observes, applies the plan, and writes the status once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput, MCOError, NotFound
from mco.controllers.caches import Caches
from mco.controllers.explain import Waits
from mco.controllers.held import Held
from mco.controllers.newborn import Nursery
from mco.controllers.poolstatus import StatusWriter
from mco.controllers.targets import Targets
from mco.kube.client import Client
from mco.kube.events import EventSink
from mco.plan.pool import rollout, waiting, wakeups
from mco.plan.pool.census import Census
from mco.plan.pool.membership import Memberships
from mco.plan.pool.nodes import Standing
from mco.plan.pool.rollout import Rollout
from mco.plan.pool.waiting import Why
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.node")
NO_POOL = ""
_OPERATOR = "k8s-app=machine-config-operator"
Explain = Callable[[str, Waits], None]


class NodeController:
    """`reconcile` takes a pool's name; `affected` says which pools an event about a node concerns; `explain`
    is told after each pass why nodes wait, those without a pool under the name `NO_POOL`."""

    def __init__(
        self,
        client: Client,
        caches: Caches,
        events: EventSink,
        clock: Clock,
        explain: Explain = lambda pool, waits: None,
    ) -> None:
        self._client = client
        self._caches = caches
        self._events = events
        self._explain = explain
        self._held = Held(clock)
        caches.reports.add_handler(self._held.report_changed)
        caches.settings.add_handler(self._held.settings_changed)
        self._memberships = Memberships()
        self._census = Census()
        self._targets = Targets(client, caches.reports, self._census.wrote)
        self._nursery = Nursery(caches, self._targets)
        self._status = StatusWriter(client, caches, events, clock)

    def affected(self, old: Node | None, new: Node | None) -> set[str]:
        """The pools of a node before and after a change; all of them when nobody can tell, none when it said
        nothing new."""
        if not wakeups.by_node(old, new):
            return set()
        membership = self._memberships.by(self._caches.pools.store.values())
        pools: set[str] = set()
        for node in filter(None, (old, new)):
            try:
                pools.update(membership.pools(node))
            except InvalidInput:
                return set(self._caches.pools.store)
        return wakeups.together(pools)

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
        """One pass over pool `name`, or over masters and arbiters together; another one when the operator
        does not hold the fleet any more."""
        pool = self._caches.pools.store.get(name)
        if pool is None:
            self._explain(name, Waits({}, {}))
            return None
        self._census.take(self._caches.pools.store.values(), self._caches.nodes.store)
        self._explain_unassigned()
        if name == names.ARBITER:
            await self._arbiters(pool)
        elif name == names.MASTER and self._topology() == waiting.ARBITER_TOPOLOGY:
            await self._control_plane(pool)
        else:
            await self._pass(pool)
        return self._held.remaining() or None

    async def _control_plane(self, masters: MachineConfigPool) -> None:
        """Masters first, then arbiters, of both together one at a time (spec/node.md 3.4)."""
        arbiters = self._caches.pools.store.get(names.ARBITER)
        if arbiters is None:
            raise NotFound(
                f'machineconfigpool "{names.ARBITER}" not found',
                subject=f"MachineConfigPool/{names.ARBITER}",
                hint=f"a control plane of topology {waiting.ARBITER_TOPOLOGY} needs that pool",
            )
        plan = await self._pass(masters, _halt("arbiter", self._unavailable(names.ARBITER)))
        if plan is None:
            # A master that comes back may be all that the arbiters of paused masters wait for.
            await self._arbiters(arbiters)
            return
        busy = sorted({*self._unavailable(names.MASTER), *plan.candidates})
        await self._pass(arbiters, _halt("master", busy))

    async def _arbiters(self, arbiters: MachineConfigPool) -> None:
        """Arbiters move by themselves only where the masters are paused and all of them are there; else they
        move with the masters' pass, to which every event about them leads too (`wakeups.together`)."""
        masters = self._caches.pools.store.get(names.MASTER)
        if masters is None or self._topology() != waiting.ARBITER_TOPOLOGY:
            await self._stay(arbiters, waiting.NO_ARBITERS)
        elif not masters.spec.paused:
            await self._status.write(arbiters, self._members(arbiters))
        elif busy := self._unavailable(names.MASTER):
            await self._stay(arbiters, waiting.control_plane("master", busy))
        else:
            await self._pass(arbiters)

    async def _stay(self, pool: MachineConfigPool, why: Why) -> None:
        members = self._members(pool)
        plan = rollout.plan(pool, members, halted=why)
        self._explain(pool.name, Waits(plan.waiting, self._census.members(pool.name)))
        await self._status.write(pool, members)

    async def _pass(self, pool: MachineConfigPool, halted: Why | None = None) -> Rollout | None:
        """Labels of newborn nodes, targets and taints, status. None when the pool may not move at all."""
        selector = pool.spec.node_selector
        if selector is not None and selector.empty:
            text = "This machineconfigpool is selecting all nodes. A non-empty selector is required."
            self._events.event(pool, "Warning", "SelectingAll", text)
            return None
        if not pool.spec.configuration.name:
            return None
        newborn = self._nursery.find(self._members(pool))
        try:
            await self._nursery.label(newborn)
            plan = await self._roll(pool, self._members(pool, without=newborn), halted)
        except MCOError:
            await self._status.write(pool, self._members(pool))
            raise
        await self._status.write(pool, self._members(pool))
        return None if pool.spec.paused or pool.metadata.deletion_timestamp else plan

    async def _roll(self, pool: MachineConfigPool, members: list[Standing], halted: Why | None) -> Rollout:
        plan = await self._plan(pool, members, halted)
        self._explain(pool.name, Waits(plan.waiting, self._census.members(pool.name)))
        targeted, error = await self._targets.apply(plan)
        self._announce_targets(pool, plan.config, targeted)
        if error:
            raise error
        return plan

    async def _plan(self, pool: MachineConfigPool, members: list[Standing], halted: Why | None) -> Rollout:
        """Raises InvalidInput for a pool whose `maxUnavailable` cannot be read, after telling everybody."""
        topology = self._topology()
        held = self._held.of(pool.name, (member.name for member in members))
        try:
            plan = rollout.plan(pool, members, topology, halted=halted, held=held)
        except InvalidInput as error:
            self._events.event(pool, "Warning", "InvalidMaxUnavailable", f"{error.message}: {error.hint}")
            self._explain(pool.name, self._unreadable(pool, members, error))
            raise
        if pool.name != names.MASTER or len(plan.candidates) < 2:
            return plan
        operator = await self._operator_node()
        if operator not in plan.candidates:
            return plan
        text = f"Deferring update of machine config operator node {operator}"
        self._events.event(pool, "Normal", "DeferringOperatorNodeUpdate", text)
        return rollout.plan(pool, members, topology, halted=halted, held=held, deferred=operator)

    async def _operator_node(self) -> str:
        """Where the operator runs; nothing when there is not exactly one, or nobody can say."""
        try:
            pods = await self._client.list(
                resources.PODS, namespace=names.NAMESPACE, label_selector=_OPERATOR
            )
        except MCOError as error:
            _log.warning("cannot find the operator's node", error=str(error))
            return ""
        return pods.items[0].spec.node_name if len(pods.items) == 1 else ""

    def _unreadable(self, pool: MachineConfigPool, members: Iterable[Standing], error: InvalidInput) -> Waits:
        why = waiting.unreadable(error.path, error.hint)
        candidates = {m.name: why for m in members if m.candidate(pool.spec.configuration.name)}
        return Waits(candidates, self._census.members(pool.name))

    def _explain_unassigned(self) -> None:
        unassigned = self._census.unassigned()
        reasons = {name: waiting.unassigned(text) for name, (_, text) in unassigned.items() if text}
        self._explain(NO_POOL, Waits(reasons, {name: member for name, (member, _) in unassigned.items()}))

    def _members(self, pool: MachineConfigPool, without: Iterable[str] = ()) -> list[Standing]:
        excluded = frozenset(without)
        members = self._census.members(pool.name)
        if not excluded:
            return list(members.values())
        return [member for name, member in members.items() if name not in excluded]

    def _unavailable(self, pool: str) -> list[str]:
        return [member.name for member in self._census.members(pool).values() if member.unavailable]

    def _topology(self) -> str:
        controller = self._caches.controller_configs.store.get(names.CONTROLLER_CONFIG)
        infra = controller.spec.infra if controller else None
        return infra.status.control_plane_topology if infra else ""

    def _announce_targets(self, pool: MachineConfigPool, config: str, targeted: list[str]) -> None:
        target = f"MachineConfig: {config}"
        if len(targeted) == 1:
            text = f"Targeted node {targeted[0]} to {target}"
        else:
            text = f"Set target for {len(targeted)} nodes to {target}"
        if targeted:
            self._events.event(pool, "Normal", "SetDesiredConfig", text)


def _halt(role: str, busy: list[str]) -> Why | None:
    return waiting.control_plane(role, busy) if busy else None
