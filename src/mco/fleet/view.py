"""What `mco up` and `mco status` show of a fleet: pools and nodes, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mco.api import machineconfigpool as mcp
from mco.api import names
from mco.api.core import Node
from mco.api.findings import Finding
from mco.api.machineconfignode import UNITS_FAILED, MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.base.errors import InvalidInput
from mco.plan.pool import nodes as state
from mco.plan.pool import rollout
from mco.plan.pool.membership import Membership


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """`served`: the config that a new machine gets, empty as long as the pool has none. `unrendered`: its
    MachineConfigs cannot be rendered as they are."""

    name: str
    served: str
    config: str
    updated: bool
    updating: bool
    degraded: bool
    machines: int
    updated_machines: int
    message: str = ""
    unrendered: bool = False


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """`waiting`: why the node does not move, empty when nothing is to be done or it is on its way.
    `failed_units`: what its daemon says of units of the config that did not start; no reason to degrade."""

    name: str
    pool: str
    state: str
    current: str
    desired: str
    ready: bool
    reason: str = ""
    waiting: str = ""
    failed_units: str = ""


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """`findings`: what is wrong in the MachineConfigs of pools that cannot be rendered."""

    pools: tuple[PoolView, ...]
    nodes: tuple[NodeView, ...]
    findings: tuple[Finding, ...] = ()


def view(
    pools: Iterable[MachineConfigPool], nodes: Iterable[Node], reports: Iterable[MachineConfigNode] = ()
) -> FleetView:
    """Pure: the same decisions that the controllers make, asked for their reasons."""
    failed = {report.name: _failed_units(report) for report in reports}
    pools, nodes = sorted(pools, key=lambda p: p.name), sorted(nodes, key=lambda n: n.name)
    membership = Membership(pools)
    members = membership.members(nodes)
    waiting: dict[str, str] = {}
    for pool in pools:
        waiting |= _waiting(pool, members.get(pool.name, []))
    return FleetView(
        pools=tuple(_pool(pool) for pool in pools),
        nodes=tuple(_node(node, membership, waiting, failed) for node in nodes),
    )


def _waiting(pool: MachineConfigPool, members: list[Node]) -> Mapping[str, str]:
    try:
        return {name: why.text for name, why in rollout.plan(pool, members).waiting.items()}
    except InvalidInput as error:
        return {node.name: f"its pool's {error.path} cannot be read: {error.hint}" for node in members}


def _pool(pool: MachineConfigPool) -> PoolView:
    conditions = pool.status.conditions
    problems = (cond.find(conditions, type_) for type_ in (mcp.RENDER_DEGRADED, mcp.DEGRADED))
    return PoolView(
        name=pool.name,
        served=pool.status.configuration.name,
        config=pool.spec.configuration.name,
        updated=cond.is_true(conditions, mcp.UPDATED)
        and pool.status.configuration.name == pool.spec.configuration.name,
        updating=cond.is_true(conditions, mcp.UPDATING),
        # A pool that never had a config is only the first of the two.
        degraded=cond.is_true(conditions, mcp.DEGRADED) or cond.is_true(conditions, mcp.RENDER_DEGRADED),
        unrendered=cond.is_true(conditions, mcp.RENDER_DEGRADED),
        machines=pool.status.machine_count,
        updated_machines=pool.status.updated_machine_count,
        message=next((c.message for c in problems if c and c.status == cond.TRUE and c.message), ""),
    )


def _node(
    node: Node, membership: Membership, waiting: Mapping[str, str], failed: Mapping[str, str]
) -> NodeView:
    try:
        pool, trouble = membership.primary(node) or "", ""
    except InvalidInput as error:
        pool, trouble = "", error.message
    return NodeView(
        name=node.name,
        pool=pool,
        state=state.state(node),
        current=state.current(node),
        desired=state.desired(node),
        ready=state.unready(node) is None,
        reason=node.metadata.annotation(names.REASON) or trouble,
        waiting=waiting.get(node.name, ""),
        failed_units=failed.get(node.name, ""),
    )


def _failed_units(report: MachineConfigNode) -> str:
    found = cond.find(report.status.conditions, UNITS_FAILED)
    return found.message if found and found.status == cond.TRUE else ""
