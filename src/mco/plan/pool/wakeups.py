"""Which changes of objects concern a pool's rollout (spec/node.md 3.3).

A node renews its heartbeat every few seconds and says nothing new; only what a decision reads is worth a
pass.
"""

from __future__ import annotations

from collections.abc import Set

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import UPDATE_HOLD, MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.plan import report as reports
from mco.plan.pool import nodes as state

_PROTOCOL = (
    names.CURRENT_CONFIG,
    names.DESIRED_CONFIG,
    names.STATE,
    names.REASON,
    names.CURRENT_IMAGE,
    names.DESIRED_IMAGE,
)
_BIRTH = (names.FIRST_PIVOT_CONFIG, names.CUSTOM_POOL_LABELS_APPLIED, names.CONTROL_PLANE_TOPOLOGY)


def by_node(old: Node | None, new: Node | None) -> bool:
    return old is None or new is None or _node_facts(old) != _node_facts(new)


def by_report(old: MachineConfigNode | None, new: MachineConfigNode | None) -> bool:
    """A report counts by what a pass reads of it: whose it is, whether its node is broken, or held."""
    return old is None or new is None or _report_facts(old) != _report_facts(new)


def together(pools: Set[str]) -> set[str]:
    """`pools`, and the masters beside their arbiters: they take turns, in the masters' pass."""
    return {*pools, names.MASTER} if names.ARBITER in pools else set(pools)


def all_pools(old: MachineConfigPool | None, new: MachineConfigPool | None) -> bool:
    """Whether nodes may have changed hands between pools: one came, went, or selects others."""
    return old is None or new is None or old.spec.node_selector != new.spec.node_selector


def protocol_changes(old: Node, new: Node) -> list[str]:
    """A sentence for each protocol annotation that changed, for AnnotationChange events; none when the node
    has just completed an update, which its daemon announces."""
    if not state.done(old) and state.done(new):
        return []
    sentences = []
    for key in _PROTOCOL:
        value = new.metadata.annotation(key)
        if value != old.metadata.annotation(key):
            change = f"no longer has {key}" if value is None else f"now has {key}={value}"
            sentences.append(f"Node {new.name} {change}")
    return sentences


def _node_facts(node: Node) -> tuple[object, ...]:
    annotations = tuple(node.metadata.annotation(key) for key in (*_PROTOCOL, *_BIRTH))
    return (
        annotations,
        node.metadata.labels,
        node.spec.taints,
        state.unready(node),
        node.metadata.deletion_timestamp,
    )


def _report_facts(report: MachineConfigNode) -> tuple[object, ...]:
    broken = cond.find(report.status.conditions, reports.NODE_DEGRADED)
    held = report.metadata.annotation(UPDATE_HOLD)
    return report.spec.pool.name, held, broken and (broken.status, broken.message)
