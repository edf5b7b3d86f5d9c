"""What a pool's status says of its nodes (spec/node.md 3.8, for pools without an image build)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from mco.api import machineconfigpool as mcp
from mco.api.controllerconfig import ControllerCertificate
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import CertExpiry, MachineConfigPool, PoolStatus, PoolSynchronizerStatus
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.names import REASON
from mco.base.text import quote
from mco.plan.pool import nodes as state
from mco.plan.pool.nodes import Member
from mco.plan.report import NODE_DEGRADED

_API_SERVER_CA = "KubeAPIServerServingCAData"


class Reports(Protocol):
    """MachineConfigNodes by node, as a mapping or a cache has them."""

    def get(self, key: str, /) -> MachineConfigNode | None: ...

    def __contains__(self, key: object, /) -> bool: ...


class Counts(msgspec.Struct, frozen=True):
    """Nodes of a pool by what they are; `ready` implies `updated`."""

    machine: int = 0
    updated: int = 0
    ready: int = 0
    unavailable: int = 0
    degraded: int = 0

    @property
    def all_updated(self) -> bool:
        return self.updated == self.machine and self.ready == self.machine and self.unavailable == 0


def count(config: str, members: Sequence[Member]) -> Counts:
    updated = ready = unavailable = degraded = 0
    for member in state.standings(members):
        if member.done_for(config):
            updated += 1
            ready += member.unready is None
        unavailable += member.unavailable
        degraded += member.degraded
    return Counts(
        machine=len(members), updated=updated, ready=ready, unavailable=unavailable, degraded=degraded
    )


def status(
    pool: MachineConfigPool,
    members: Sequence[Member],
    reports: Reports,
    certificates: Sequence[ControllerCertificate],
    now: str,
) -> PoolStatus:
    """The status that the pool should have; `reports` has MachineConfigNodes by node, of other pools too;
    `now` is an RFC 3339 time.

    Equal to the pool's own status, transition times included, when nothing changed."""
    counts = count(pool.spec.configuration.name, members)
    old = pool.status
    conditions = old.conditions
    for new in _conditions(pool, members, reports, counts):
        conditions = cond.set_condition(conditions, new, now)
    reached = pool.spec.configuration if counts.all_updated else old.configuration
    return PoolStatus(
        observed_generation=pool.metadata.generation,
        configuration=reached,
        machine_count=counts.machine,
        updated_machine_count=counts.updated,
        ready_machine_count=counts.ready,
        unavailable_machine_count=counts.unavailable,
        degraded_machine_count=counts.degraded,
        conditions=conditions,
        cert_expirys=tuple(
            CertExpiry(bundle=c.bundle_file, subject=c.subject, expiry=c.not_after or "")
            for c in certificates
            if c.bundle_file == _API_SERVER_CA
        ),
        pool_synchronizers_status=(_synchronizer(counts, members, reports),),
    )


def as_patch(new: PoolStatus) -> dict[str, Any]:
    """`new` as the `status` of a merge patch: zero counters are written, not left out."""
    body: dict[str, Any] = msgspec.to_builtins(new)
    zero = {field.encode_name: 0 for field in msgspec.structs.fields(PoolStatus) if field.type is int}
    return zero | body | {"certExpirys": body.get("certExpirys", [])}


def _conditions(
    pool: MachineConfigPool,
    members: Sequence[Member],
    reports: Reports,
    counts: Counts,
) -> tuple[Condition, ...]:
    target = f"MachineConfig {pool.spec.configuration.name}"
    if counts.all_updated:
        updated = _true(mcp.UPDATED, f"All nodes are updated with {target}")
        updating = _false(mcp.UPDATING)
    elif pool.spec.paused:
        updated = _false(mcp.UPDATED)
        updating = _false(mcp.UPDATING, f"Pool is paused; will not update to {target}")
    else:
        updated = _false(mcp.UPDATED)
        updating = _true(mcp.UPDATING, f"All nodes are updating to {target}")
    broken = _node_degraded(members, reports, counts)
    return (updated, updating, broken, *_build_degraded(pool), _degraded(pool, broken))


def _node_degraded(members: Sequence[Member], reports: Reports, counts: Counts) -> Condition:
    if counts.degraded == 0:
        return _false(mcp.NODE_DEGRADED)
    said = []
    for member in members:
        report = reports.get(member.name)
        found = cond.find(report.status.conditions, NODE_DEGRADED) if report else None
        if found and found.status == cond.TRUE:
            said.append(f"Node {member.name} is reporting: {quote(found.message)}")
    broken = (member.node for member in state.standings(members) if member.degraded)
    reasons = {node.name: node.metadata.annotation(REASON) for node in broken}
    texts = [f"Node {name} is reporting: {quote(reason)}" for name, reason in reasons.items() if reason]
    return Condition(
        type=mcp.NODE_DEGRADED,
        status=cond.TRUE,
        reason=f"{len(said)} nodes are reporting degraded status on sync",
        message=", ".join(said + texts),
    )


def _build_degraded(pool: MachineConfigPool) -> tuple[Condition, ...]:
    """Left over from a build whose objects are gone."""
    if not cond.is_true(pool.status.conditions, mcp.IMAGE_BUILD_DEGRADED):
        return ()
    message = "No layered pool objects found, clearing stale build degraded condition"
    cleared = _false(mcp.IMAGE_BUILD_DEGRADED, message)
    return (msgspec.structs.replace(cleared, reason="NoLayeredObjects"),)


def _degraded(pool: MachineConfigPool, broken: Condition) -> Condition:
    """NodeDegraded or RenderDegraded; the message is the nodes'."""
    if broken.status == cond.TRUE:
        return _true(mcp.DEGRADED, broken.message)
    if cond.is_true(pool.status.conditions, mcp.RENDER_DEGRADED):
        return _true(mcp.DEGRADED)
    return _false(mcp.DEGRADED)


def _synchronizer(counts: Counts, members: Sequence[Member], reports: Reports) -> PoolSynchronizerStatus:
    """No pinned image sets are served yet, so every node that reports has what it was told to hold."""
    return PoolSynchronizerStatus(
        pool_synchronizer_type="PinnedImageSets",
        machine_count=counts.machine,
        updated_machine_count=sum(1 for member in members if member.name in reports),
        ready_machine_count=counts.ready,
        available_machine_count=counts.machine - counts.unavailable,
        unavailable_machine_count=counts.unavailable,
    )


def _true(type_: str, message: str = "") -> Condition:
    return Condition(type=type_, status=cond.TRUE, message=message)


def _false(type_: str, message: str = "") -> Condition:
    return Condition(type=type_, status=cond.FALSE, message=message)
