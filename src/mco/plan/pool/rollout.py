"""Who moves next: one pool's nodes, its target and `maxUnavailable` in, the nodes to target out.

Everything that follows spec/node.md 3.5 to 3.7 for pools without an image build. In addition every node that
is not targeted has a sentence that says why (design.md 6, explanations), and a node that failed on a config
which was withdrawn is sent back to where it still is, first and at no cost of capacity (design.md 6,
recovery): it changes nothing on a node that never got away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput
from mco.plan.pool import nodes as state
from mco.plan.pool import waiting as whys
from mco.plan.pool.nodes import Member, Standing
from mco.plan.pool.waiting import Why

_NOBODY: Mapping[str, Why] = {}
_PERCENT = re.compile(r"([+-]?)0*([0-9]{1,18})%\Z")
"""What fits into the original's integers."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What to write on one node: whether it is told to move; its update taint: True puts it on, False takes
    it off, None leaves it; the control plane's topology, empty when the node knows it."""

    node: Node
    target: bool = False
    taint: bool | None = None
    topology: str = ""


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over a pool: the nodes to write, and for each node that has to move but may not, why.
    `candidates`: the nodes that capacity would have allowed, whether or not it reaches for all of them."""

    config: str
    changes: tuple[Change, ...] = ()
    waiting: Mapping[str, Why] = msgspec.field(default_factory=dict)
    candidates: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[Node, ...]:
        """The nodes to send to `config` now."""
        return tuple(change.node for change in self.changes if change.target)


def plan(
    pool: MachineConfigPool,
    members: Iterable[Member],
    topology: str = "",
    *,
    deferred: str = "",
    halted: Why | None = None,
    held: Mapping[str, Why] = _NOBODY,
) -> Rollout:
    """Decides one pass. `topology` is the control plane's, which daemons read from their Node. `deferred`: a
    node that waits as long as others can go. `halted`: why nobody may move at all. `held`: nodes that may
    not, of this pool or any other; they cost no capacity, and may always go back to where they still are.

    Raises InvalidInput when `maxUnavailable` cannot be read."""
    config, standings = pool.spec.configuration.name, state.standings(members)
    if pool.spec.paused or pool.metadata.deletion_timestamp:
        why = whys.PAUSED if pool.spec.paused else whys.DELETED
        return Rollout(config=config, waiting={m.name: why for m in standings if m.candidate(config)})
    found = _Found(config, standings, topology, held)
    limit = max_unavailable(pool, len(standings))
    chosen, waiting, candidates = _choose(found, limit, deferred, halted)
    aimed = {m.name for m in chosen}
    others = (m for m in found.marked if m.name not in aimed)
    changes = [_change(m, False, topology, target=True) for m in chosen]
    changes += [_change(m, _waits(m, config), topology) for m in others]
    return Rollout(config=config, changes=tuple(changes), waiting=waiting, candidates=candidates)


def max_unavailable(pool: MachineConfigPool, count: int) -> int:
    """How many of `count` nodes may be away at once: a number, or a percentage rounded down, 1 for zero or
    nothing, always 1 for the arbiter (spec/node.md 3.5). Raises InvalidInput for anything else."""
    value = pool.spec.max_unavailable
    if pool.name == names.ARBITER or value is None:
        return 1
    if isinstance(value, str):
        match = _PERCENT.match(value)
        if not match:
            raise InvalidInput(
                "invalid value for IntOrString: invalid type: string is not a percentage",
                subject=f"MachineConfigPool/{pool.name}",
                path="$.spec.maxUnavailable",
                hint=f'"{value}" must be a number of nodes, as 2, or a percentage, as "20%"',
            )
        value = int(match[1] + match[2]) * count // 100
    return value or 1


class _Found:
    """The nodes of a pool by what they mean for its rollout. `moving`: some are on their way right now;
    `marked`: their taint is wrong, or they do not know the topology; `held`: why ready ones may not go."""

    def __init__(
        self, config: str, members: Sequence[Standing], topology: str, held: Mapping[str, Why]
    ) -> None:
        self.held: dict[str, Why] = {}
        self.marked: list[Standing] = []
        self.returning: list[Standing] = []
        self.ready: list[Standing] = []
        self.unready: list[Standing] = []
        self.busy: list[str] = []
        self.stuck: list[str] = []
        self.moving = False
        for member in members:
            if _waits(member, config) != member.tainted or (topology and topology != member.topology):
                self.marked.append(member)
            if member.unavailable:
                self.busy.append(member.name)
                self.moving = self.moving or not (member.done or member.degraded)
            if not member.candidate(config):
                if member.failing:
                    self.stuck.append(member.name)
            elif member.failing and member.current == config:
                # It failed on its way elsewhere and still is where the pool wants it again.
                self.returning.append(member)
            elif member.name in held and not member.unready:
                self.held[member.name] = held[member.name]
            else:
                (self.unready if member.unready else self.ready).append(member)


def _choose(
    found: _Found, limit: int, deferred: str, halted: Why | None
) -> tuple[list[Standing], dict[str, Why], tuple[str, ...]]:
    """The nodes to send off, why the others wait, and the names of the candidates."""
    waiting = {m.name: whys.not_ready(m.unready) for m in found.unready if m.unready} | found.held
    if halted:
        waiting |= dict.fromkeys((m.name for m in (*found.returning, *found.ready)), halted)
        return [], waiting, ()
    capacity = limit - len(found.busy) - len(found.stuck)
    if capacity <= 0:
        why = whys.no_capacity(limit, found.busy, found.stuck, found.moving)
        waiting |= dict.fromkeys((m.name for m in found.ready), why)
        return found.returning, waiting, tuple(m.name for m in found.returning)
    candidates = tuple(m.name for m in (*found.returning, *found.ready))
    ready = found.ready
    if deferred in candidates and len(candidates) > 1:
        ready = [m for m in ready if m.name != deferred]
        if len(ready) < len(found.ready):
            waiting[deferred] = whys.operator_node([name for name in candidates if name != deferred])
    if len(ready) > capacity:
        in_turn = sorted(ready, key=attrgetter("turn"))
        ready, later = in_turn[:capacity], in_turn[capacity:]
        why = whys.others_first(limit, [m.name for m in ready])
        waiting |= dict.fromkeys((m.name for m in later), why)
    return [*found.returning, *ready], waiting, candidates


def _waits(member: Standing, config: str) -> bool:
    """Such a node carries the taint; it loses it when it is told to move, not when it arrives."""
    return member.desired != config or member.layered


def _change(member: Standing, tainted: bool, topology: str, *, target: bool = False) -> Change:
    return Change(
        node=member.node,
        target=target,
        taint=None if tainted == member.tainted else tainted,
        topology=topology if topology != member.topology else "",
    )
