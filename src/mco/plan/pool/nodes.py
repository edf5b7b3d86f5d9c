"""What the state of a node means for its pool (spec/node.md 3.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mco.api import names
from mco.api.core import Node, Taint

UPDATE_TAINT: Taint = {"key": names.UPDATE_TAINT, "effect": "PreferNoSchedule"}
"""Carried by nodes that wait for an update (spec/node.md 2)."""


def is_update_taint(taint: Taint) -> bool:
    return UPDATE_TAINT.items() <= taint.items()


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


class Standing(msgspec.Struct, frozen=True):
    """What decisions about a pool read of a node, worked out once for each version of it: a pass over
    thousands of nodes, of which a few changed, then costs a few comparisons for each.

    `unready`: why it is not ready, None when it is. `imaged`: it was told to run an image. `layered`: it runs
    one as well. `tainted`: it carries the update taint. `born_with`: the config of its first boot, as long as
    nobody gave it the labels of the pool that the config belongs to.
    `turn`: its place among those who wait."""

    node: Node
    name: str
    unready: str | None
    current: str
    desired: str
    imaged: bool
    layered: bool
    done: bool
    degraded: bool
    failing: bool
    unavailable: bool
    tainted: bool
    topology: str | None
    born_with: str
    turn: tuple[bool, bool, str, str, str]

    def candidate(self, config: str) -> bool:
        """Whether it still has to be told to move to `config`, its pool's, or to drop an image."""
        return self.desired != config or self.imaged

    def done_for(self, config: str) -> bool:
        """Whether it is done and was told to be at its pool's config."""
        return self.done and self.desired == config and not self.imaged


Member = Node | Standing


def standing(member: Member) -> Standing:
    if isinstance(member, Standing):
        return member
    said = member.metadata.annotations or {}
    imaged = said.get(names.DESIRED_IMAGE) is not None
    return Standing(
        node=member,
        name=member.name,
        unready=unready(member),
        current=current(member),
        desired=desired(member),
        imaged=imaged,
        layered=imaged and said.get(names.CURRENT_IMAGE) is not None,
        done=done(member),
        degraded=degraded(member),
        failing=failing(member),
        unavailable=unavailable(member),
        tainted=any(is_update_taint(taint) for taint in member.spec.taints or ()),
        topology=said.get(names.CONTROL_PLANE_TOPOLOGY),
        born_with=_born_with(said),
        turn=_turn(member),
    )


def _turn(node: Node) -> tuple[bool, bool, str, str, str]:
    """Nodes that failed on an earlier config first; then zones in order, the oldest node of each first, nodes
    without a zone last."""
    zone = node.metadata.label(names.ZONE_LABEL) or ""
    return (not failing(node), not zone, zone, node.metadata.creation_timestamp or "", node.name)


def _born_with(said: Mapping[str, str]) -> str:
    labelled = names.CUSTOM_POOL_LABELS_APPLIED in said
    return "" if labelled else said.get(names.FIRST_PIVOT_CONFIG, "")


def standings(members: Iterable[Member]) -> list[Standing]:
    """Nodes are looked at, standings are taken as they are."""
    return [standing(member) for member in members]
