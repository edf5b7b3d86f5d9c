"""Why a node that has to move does not (design.md 6, explanations): in a sentence for whoever asks, and as an
additional condition of its MachineConfigNode for whoever watches.

The condition says less than the sentence. Who goes first changes with every step of a rollout, and telling
thousands of waiting nodes each time would cost more writes than the rollout; what stands in the condition
stays true until the node's turn comes, or until something is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mco.api.machineconfignode import UPDATE_WAITING, MachineConfigNode
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition

ARBITER_TOPOLOGY = "HighlyAvailableArbiter"
"""The only topology of a control plane in which arbiters move (spec/node.md 3.4)."""
_NAMED = 10
"""Nodes that a sentence names; of a large fleet it says how many others there are."""


class Why(msgspec.Struct, frozen=True):
    """`reason` and `lasting` go into the condition, `text` is what is true at the moment."""

    reason: str
    text: str
    lasting: str


def because(reason: str, text: str) -> Why:
    return Why(reason, text, text)


PAUSED = because("PoolPaused", "its pool is paused")
DELETED = because("PoolDeleted", "its pool is being deleted")

NO_ARBITERS = because("ControlPlane", f"arbiters move beside masters, in the topology {ARBITER_TOPOLOGY}")


def not_ready(reason: str) -> Why:
    return because("NodeNotReady", f"it is not ready: {reason}")


def held(text: str) -> Why:
    """The operator holds it: its own daemon could not carry out what this version says."""
    return because("UpdateHeld", text)


def unreadable(path: str, hint: str) -> Why:
    return because("InvalidPool", f"its pool's {path} cannot be read: {hint}")


def unassigned(message: str) -> Why:
    """No pool moves it: two custom ones select it, or a selector of one cannot be read."""
    return because("NoPool", message)


def others_first(limit: int, chosen: Sequence[str]) -> Why:
    text = f"maxUnavailable is {limit}; others go first: {listed(chosen)}"
    return Why("MaxUnavailable", text, f"maxUnavailable is {limit}; others go first")


def no_capacity(limit: int, busy: Sequence[str], stuck: Sequence[str], moving: bool) -> Why:
    """`moving`: some of the busy nodes are on their way, so that it goes on by itself. When nothing moves,
    the nodes that block the pool are named where everybody sees them."""
    parts = [f"unavailable: {listed(busy)}"] if busy else []
    parts += [f"failed on this config: {listed(stuck)}"] if stuck else []
    text = "; ".join([f"maxUnavailable is {limit}", *parts])
    if moving:
        return Why("MaxUnavailable", text, f"maxUnavailable is {limit}; others go first")
    return because("PoolBlocked", text)


def operator_node(others: Sequence[str]) -> Why:
    text = "the machine config operator runs on it"
    return Why("OperatorNode", f"{text}; others go first: {listed(others)}", f"{text}; others go first")


def control_plane(role: str, busy: Sequence[str]) -> Why:
    """Masters and arbiters keep etcd's quorum together, so one of them at a time."""
    return because("ControlPlane", f"{role} nodes are unavailable: {listed(busy)}")


def listed(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return ", ".join(nodes[:_NAMED]) + more


def said(report: MachineConfigNode) -> tuple[str, str] | None:
    """Reason and message of what a report says at the moment, None when it says that the node does not
    wait."""
    found = cond.find(report.status.conditions, UPDATE_WAITING)
    return (found.reason, found.message) if found and found.status == cond.TRUE else None


def status_patch(report: MachineConfigNode, why: Why | None, now: str) -> dict[str, Any]:
    """The merge patch of the report's status at `now` (RFC 3339), tied to the report that was looked at: the
    daemon writes the same list."""
    if why:
        new = Condition(type=UPDATE_WAITING, status=cond.TRUE, reason=why.reason, message=why.lasting)
    else:
        new = Condition(type=UPDATE_WAITING, status=cond.FALSE, reason="NotWaiting")
    conditions = cond.set_condition(report.status.conditions, new, now)
    return {
        "metadata": {"resourceVersion": report.metadata.resource_version},
        "status": {"conditions": [msgspec.to_builtins(condition) for condition in conditions]},
    }
