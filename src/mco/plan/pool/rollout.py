"""Who moves next: one pool's nodes, its target and `maxUnavailable` in, the nodes to target out.

Everything that follows spec/node.md 3.5 to 3.7 for pools without an image build. In addition every node that
is not targeted has a sentence that says why (design.md 6, explanations), and a node that failed on a config
which was withdrawn is sent back to where it still is, first and at no cost of capacity (design.md 6,
recovery): it changes nothing on a node that never got away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput
from mco.plan.pool import nodes as state

_NAMED = 10
"""Nodes that a sentence names; of a large fleet it says how many others there are."""
_PERCENT = re.compile(r"([+-]?[0-9]+)%\Z")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What to write on one node: whether it is told to move; its update taint: True puts it on, False takes
    it off, None leaves it; the control plane's topology, empty when the node knows it."""

    node: Node
    target: bool = False
    taint: bool | None = None
    topology: str = ""

    @property
    def empty(self) -> bool:
        return not self.target and self.taint is None and not self.topology


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over a pool: the nodes to write, and for each node that has to move but may not, why."""

    config: str
    changes: tuple[Change, ...] = ()
    waiting: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def targets(self) -> tuple[Node, ...]:
        """The nodes to send to `config` now."""
        return tuple(change.node for change in self.changes if change.target)


def plan(pool: MachineConfigPool, members: Sequence[Node], topology: str = "") -> Rollout:
    """Decides one pass; `topology` is the control plane's, which daemons read from their Node. Raises
    InvalidInput when `maxUnavailable` cannot be read."""
    config = pool.spec.configuration.name
    if pool.spec.paused or pool.metadata.deletion_timestamp:
        why = "its pool is paused" if pool.spec.paused else "its pool is being deleted"
        waiting = {node.name: why for node in members if state.candidate(node, config)}
        return Rollout(config=config, waiting=waiting)
    limit = max_unavailable(pool, len(members))
    targets, waiting = _choose(config, members, limit)
    aimed = {node.name for node in targets}
    others = [node for node in members if node.name not in aimed]
    changes = [_change(node, config, True, topology) for node in targets]
    changes += [_change(node, config, False, topology) for node in others]
    return Rollout(config=config, changes=tuple(c for c in changes if not c.empty), waiting=waiting)


def _change(node: Node, config: str, aimed: bool, topology: str) -> Change:
    known = node.metadata.annotation(names.CONTROL_PLANE_TOPOLOGY)
    return Change(
        node=node,
        target=aimed,
        taint=(False if _has_taint(node) else None) if aimed else _taint(node, config),
        topology=topology if topology != known else "",
    )


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
        value = int(match[1]) * count // 100
    return value or 1


def _choose(config: str, members: Sequence[Node], limit: int) -> tuple[tuple[Node, ...], dict[str, str]]:
    returning = tuple(n for n in members if _returns(n, config))
    names_returning = {node.name for node in returning}
    moving = [n for n in members if n.name not in names_returning and state.candidate(n, config)]
    busy = [n.name for n in members if state.unavailable(n)]
    stuck = [n.name for n in members if state.failing(n) and not state.candidate(n, config)]
    waiting = {n.name: reason for n in moving if (reason := _unready(n))}
    ready = [n for n in moving if n.name not in waiting]
    capacity = limit - len(busy) - len(stuck)
    if capacity <= 0:
        waiting |= dict.fromkeys((n.name for n in ready), _no_capacity(limit, busy, stuck))
        return returning, waiting
    if len(ready) <= capacity:
        return (*returning, *ready), waiting
    in_turn = sorted(ready, key=_turn)
    chosen, later = in_turn[:capacity], in_turn[capacity:]
    why = f"maxUnavailable is {limit}; others go first: {_list([n.name for n in chosen])}"
    waiting |= dict.fromkeys((n.name for n in later), why)
    return (*returning, *chosen), waiting


def _returns(node: Node, config: str) -> bool:
    """A node that failed on its way elsewhere and still is at the config that the pool wants again."""
    return state.failing(node) and state.candidate(node, config) and state.current(node) == config


def _unready(node: Node) -> str | None:
    reason = state.unready(node)
    return f"it is not ready: {reason}" if reason else None


def _no_capacity(limit: int, busy: Sequence[str], stuck: Sequence[str]) -> str:
    parts = [f"unavailable: {_list(busy)}"] if busy else []
    parts += [f"failed on this config: {_list(stuck)}"] if stuck else []
    return f"maxUnavailable is {limit}; " + "; ".join(parts) if parts else f"maxUnavailable is {limit}"


def _list(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return ", ".join(nodes[:_NAMED]) + more


def _turn(node: Node) -> tuple[bool, bool, str, str, str]:
    """Nodes that failed on an earlier config first; then zones in order, the oldest node of each first, nodes
    without a zone last."""
    zone = node.metadata.label(names.ZONE_LABEL) or ""
    return (not state.failing(node), not zone, zone, node.metadata.creation_timestamp or "", node.name)


def _has_taint(node: Node) -> bool:
    return any(state.is_update_taint(taint) for taint in node.spec.taints or ())


def _at_target(node: Node, config: str) -> bool:
    images = (names.CURRENT_IMAGE, names.DESIRED_IMAGE)
    both = all(node.metadata.annotation(key) is not None for key in images)
    return state.desired(node) == config and not both


def _taint(node: Node, config: str) -> bool | None:
    """A node that waits carries the taint; it loses it when it is told to move, not when it arrives."""
    wanted = not _at_target(node, config)
    return None if wanted == _has_taint(node) else wanted
