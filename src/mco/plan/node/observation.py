"""What a node's next step is decided on: the cluster's side, the disk's side, and what this process knows."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfiguration import DisruptionPolicies
from mco.plan.node.disruption import PostAction
from mco.plan.node.policies import REBOOT
from mco.plan.node.verify import Finding


class Phase(enum.StrEnum):
    """Where an update stands on the disk. PERFORMED: everything done, to be verified. REBOOTING: the same,
    once a reboot has made it true. UNDONE: back at the old config, but a reboot has to follow."""

    APPLYING = "applying"
    PERFORMED = "performed"
    REBOOTING = "rebooting"
    UNDOING = "undoing"
    UNDONE = "undone"


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """The update in the journal. `boot_id`: of the boot in which it entered its phase or last asked for a
    reboot, and `reboots` how often it asked in that phase. `ran`: a boot lies between its begin and now, so
    that services may have read what it wrote. `light`: it changes nothing but the kernel command line."""

    old: str
    new: str
    phase: Phase
    boot_id: str
    reboots: int = 0
    ran: bool = False
    light: bool = False
    forced: bool = False
    post_actions: tuple[PostAction, ...] = ()

    @property
    def needs_reboot(self) -> bool:
        return any(action.type == REBOOT for action in self.post_actions)


class Annotations(msgspec.Struct, frozen=True, kw_only=True):
    """The protocol's annotations of the Node (spec/daemon.md 3.1); the empty text where one is missing."""

    current: str = ""
    desired: str = ""
    state: str = ""
    reason: str = ""
    desired_drain: str = ""
    last_applied_drain: str = ""
    post_config_action: str = ""
    topology: str = ""

    @property
    def drain_pending(self) -> bool:
        return bool(self.desired_drain) and self.desired_drain != self.last_applied_drain

    @property
    def failing(self) -> bool:
        return self.state in (names.STATE_DEGRADED, names.STATE_UNRECONCILABLE)


def view(node: Node) -> Annotations:
    def value(key: str) -> str:
        return node.metadata.annotation(key) or ""

    return Annotations(
        current=value(names.CURRENT_CONFIG),
        desired=value(names.DESIRED_CONFIG),
        state=value(names.STATE),
        reason=value(names.REASON),
        desired_drain=value(names.DESIRED_DRAIN),
        last_applied_drain=value(names.LAST_APPLIED_DRAIN),
        post_config_action=value(names.POST_CONFIG_ACTION),
        topology=value(names.CONTROL_PLANE_TOPOLOGY),
    )


def decisive(node: Node | None) -> object:
    """What of the Node makes another pass worthwhile: not what its daemon itself reports."""
    if node is None:
        return None
    seen = view(node)
    return (node.metadata.uid, seen.desired, seen.desired_drain, seen.last_applied_drain, seen.topology)


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """`recorded`: the config that the disk holds, by the node's own note. `initial`: the annotations that the
    node was served with; as long as their file is there, the node has not finished joining."""

    boot_id: str
    recorded: str = ""
    initial: Mapping[str, str] | None = None
    forced: bool = False
    fips: bool | None = None
    transaction: Transaction | None = None


class Verified(msgspec.Struct, frozen=True):
    """The result of comparing the disk with a config, valid until something changes the disk."""

    config: str
    findings: tuple[Finding, ...] = ()


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """`started`: the first sync of this process has succeeded. `waited`: seconds since the drain or uncordon
    that is pending was asked for. `missing`: configs that cannot be had, with the reason; `unknown`: those
    that the node has a copy of and the cluster does not have. `policies` is None until the cluster has
    computed them; `overrides` are the sections whose changes it lets pass."""

    node: Annotations
    disk: Disk
    configs: Mapping[str, MachineConfig] = msgspec.field(default_factory=dict)
    missing: Mapping[str, str] = msgspec.field(default_factory=dict)
    unknown: Collection[str] = ()
    policies: DisruptionPolicies | None = None
    overrides: tuple[str, ...] = ()
    verified: Verified | None = None
    started: bool = False
    reboot_requested: bool = False
    waited: float = 0.0
    policies_waited: float = 0.0
