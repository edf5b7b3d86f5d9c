"""What `mco up` and `mco status` show of a fleet: pools and nodes, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mco.api import machineconfigpool as mcp
from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.base.errors import InvalidInput
from mco.plan.pool import nodes as state
from mco.plan.pool import rollout
from mco.plan.pool.membership import Membership


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """`served`: the config that a new machine gets, empty as long as the pool has none."""

    name: str
    served: str
    config: str
    updated: bool
    updating: bool
    degraded: bool
    machines: int
    updated_machines: int
    message: str = ""


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """`waiting`: why the node does not move, empty when nothing is to be done or it is on its way."""

    name: str
    pool: str
    state: str
    current: str
    desired: str
    ready: bool
    reason: str = ""
    waiting: str = ""


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    pools: tuple[PoolView, ...]
    nodes: tuple[NodeView, ...]


def view(pools: Iterable[MachineConfigPool], nodes: Iterable[Node]) -> FleetView:
    """Pure: the same decisions that the controllers make, asked for their reasons."""
    pools, nodes = sorted(pools, key=lambda p: p.name), sorted(nodes, key=lambda n: n.name)
    membership = Membership(pools)
    members = membership.members(nodes)
    waiting: dict[str, str] = {}
    for pool in pools:
        waiting |= _waiting(pool, members.get(pool.name, []))
    return FleetView(
        pools=tuple(_pool(pool) for pool in pools),
        nodes=tuple(_node(node, membership, waiting) for node in nodes),
    )


def _waiting(pool: MachineConfigPool, members: list[Node]) -> Mapping[str, str]:
    try:
        return rollout.plan(pool, members).waiting
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
        degraded=cond.is_true(conditions, mcp.DEGRADED),
        machines=pool.status.machine_count,
        updated_machines=pool.status.updated_machine_count,
        message=next((c.message for c in problems if c and c.status == cond.TRUE and c.message), ""),
    )


def _node(node: Node, membership: Membership, waiting: Mapping[str, str]) -> NodeView:
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
    )
