"""What the state of a node means for its pool (spec/node.md 3.6)."""

from __future__ import annotations

from mco.api import names
from mco.api.core import Node, Taint

UPDATE_TAINT = Taint(key=names.UPDATE_TAINT, effect="PreferNoSchedule")
"""Carried by nodes that wait for an update (spec/node.md 2)."""


def is_update_taint(taint: Taint) -> bool:
    return (taint.key, taint.effect) == (UPDATE_TAINT.key, UPDATE_TAINT.effect)


_GOOD = {"Ready": "True", "DiskPressure": "False", "NetworkUnavailable": "False"}
_NAMES = {"Ready": "NotReady", "DiskPressure": "OutOfDisk", "NetworkUnavailable": "NetworkUnavailable"}


def unready(node: Node) -> str | None:
    """Why the node is not ready, None when it is. A condition that is absent does not count."""
    for condition in node.status.conditions:
        if _GOOD.get(condition.type, condition.status) != condition.status:
            return f"node {node.name} is reporting {_NAMES[condition.type]}={condition.status}"
    if node.spec.unschedulable:
        return f"node {node.name} is reporting Unschedulable"
    return None


def current(node: Node) -> str:
    return node.metadata.annotation(names.CURRENT_CONFIG) or ""


def desired(node: Node) -> str:
    return node.metadata.annotation(names.DESIRED_CONFIG) or ""


def state(node: Node) -> str:
    return node.metadata.annotation(names.STATE) or ""


def done(node: Node) -> bool:
    """Whether the node is where it was told to be."""
    # Asked several times a pass for each of thousands of nodes: one look at the mapping, the likely no first.
    said = node.metadata.annotations or {}
    config = said.get(names.CURRENT_CONFIG)
    if not config or config != said.get(names.DESIRED_CONFIG) or said.get(names.STATE) != names.STATE_DONE:
        return False
    image = said.get(names.CURRENT_IMAGE)
    return image == said.get(names.DESIRED_IMAGE) and image != ""


def done_for(node: Node, config: str) -> bool:
    """Whether the node is done and was told to be at its pool's config."""
    layered = node.metadata.annotation(names.DESIRED_IMAGE) is not None
    return done(node) and desired(node) == config and not layered


def degraded(node: Node) -> bool:
    return state(node) in (names.STATE_DEGRADED, names.STATE_UNRECONCILABLE)


def failing(node: Node) -> bool:
    """Whether the daemon gave up in the middle of a change; such a node can be sent elsewhere."""
    return degraded(node) and current(node) != desired(node)


def unavailable(node: Node) -> bool:
    """Whether the node uses up one of the pool's `maxUnavailable`."""
    if unready(node):
        return True
    return not done(node) and not failing(node)


def candidate(node: Node, config: str) -> bool:
    """Whether the node still has to be told to move to `config`, the pool's, or to drop an image."""
    return desired(node) != config or node.metadata.annotation(names.DESIRED_IMAGE) is not None
