"""What the controllers tell Prometheus, from the objects that they decide on (spec/operator.md 5.1).

Left out are the series of sub-controllers that there are not: kubelet-config, container-runtime-config and
template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool, PoolStatus
from mco.api.machineconfiguration import MachineConfiguration
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.base.errors import InvalidInput
from mco.plan.metrics import Family, Metric, single
from mco.plan.pool.membership import Membership

OVERRIDE = Metric("os_image_url_override", "1 if a MachineConfig overrides the pool's OS image", ("pool",))
SKEW_NONE = Metric("mcc_boot_image_skew_enforcement_none", "1 if old boot images do not stop upgrades")
DRAIN_ERROR = Metric("mcc_drain_err", "1 while the node's drain fails for longer than an hour", ("node",))
POOL_ALERT = Metric("mcc_pool_alert", "1 for a master whose custom pool is ignored", ("node",))
SUB_CONTROLLER = Metric(
    "mcc_sub_controller_state",
    "When a sub-controller last brought an object up to date, in Unix seconds",
    ("subcontroller", "state", "object"),
)
STATE = Metric(
    "mco_state",
    "When the latest condition of the node's pool was seen, in Unix seconds",
    ("node", "pool", "state", "reason"),
)
MACHINES = Metric("mco_machine_count", "Machines of the pool", ("pool",))
UPDATED = Metric("mco_updated_machine_count", "Machines of the pool that are updated", ("pool",))
DEGRADED = Metric("mco_degraded_machine_count", "Machines of the pool that are degraded", ("pool",))
UNAVAILABLE = Metric("mco_unavailable_machine_count", "Machines of the pool that are unavailable", ("pool",))

_COUNTS: Mapping[Metric, Callable[[PoolStatus], int]] = {
    MACHINES: lambda status: status.machine_count,
    UPDATED: lambda status: status.updated_machine_count,
    DEGRADED: lambda status: status.degraded_machine_count,
    UNAVAILABLE: lambda status: status.unavailable_machine_count,
}
METRICS = (OVERRIDE, SKEW_NONE, DRAIN_ERROR, POOL_ALERT, SUB_CONTROLLER, STATE, *_COUNTS)

INITIALIZE = "initialize"
"""Dashboards find these metrics from the start on, by a series that says nothing."""

_SUB_CONTROLLER = "machine-config-controller-"
_NODE_SYNC = (f"{_SUB_CONTROLLER}node", "Sync Machine Config Pool")
_RENDER_SYNC = (f"{_SUB_CONTROLLER}render", "Sync Machine Config Pool with new MC")
_DRAIN = f"{_SUB_CONTROLLER}drain"
_ONE_NODE = "SingleReplica"
_NO_BOOT_IMAGES = "BareMetal"


class Syncs(msgspec.Struct, frozen=True, kw_only=True):
    """When, in Unix seconds, the controllers were last done with what: `passes` over pools, `targets` set for
    pools, and requests of nodes fulfilled, with their verbs."""

    passes: Mapping[str, float]
    targets: Mapping[str, float]
    drains: Mapping[str, tuple[str, float]]


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The objects that there are. `configs` are the pools' rendered ones, by name; `failing` the nodes whose
    drain has failed for too long."""

    pools: Sequence[MachineConfigPool]
    nodes: Sequence[Node]
    configs: Mapping[str, MachineConfig]
    controller: ControllerConfig | None
    settings: MachineConfiguration | None
    failing: frozenset[str]
    syncs: Syncs


def families(fleet: Fleet) -> Iterator[Family]:
    """All of `METRICS`. What is not there any more has no series."""
    membership = Membership(fleet.pools)
    movers = {node.name: pool for node in fleet.nodes if (pool := _mover(membership, node))}
    pools, nodes = {pool.name for pool in fleet.pools}, {node.name for node in fleet.nodes}
    yield _initialized(OVERRIDE, _overrides(fleet))
    yield single(SKEW_NONE, float(_skew_is_ignored(fleet)))
    yield _initialized(DRAIN_ERROR, {(name,): 1.0 for name in fleet.failing & nodes})
    yield _initialized(POOL_ALERT, _alerts(membership, fleet.nodes, movers))
    yield _initialized(SUB_CONTROLLER, dict(_sub_controllers(fleet.syncs, pools, nodes)))
    yield Family(STATE, dict(_states(fleet, movers)))
    yield from _counts(fleet.pools)


def _mover(membership: Membership, node: Node) -> str | None:
    """The pool that moves the node; None too for one that nobody can tell of."""
    try:
        return membership.primary(node)
    except InvalidInput:
        return None


def _initialized(metric: Metric, series: Mapping[tuple[str, ...], float]) -> Family:
    return Family(metric, {(INITIALIZE,) * len(metric.labels): 0.0, **series})


def _overrides(fleet: Fleet) -> dict[tuple[str, ...], float]:
    found = {pool.name: fleet.configs.get(pool.spec.configuration.name) for pool in fleet.pools}
    return {
        (pool,): float(config.metadata.annotation(names.OS_IMAGE_OVERRIDDEN) is not None)
        for pool, config in found.items()
        if config is not None
    }


def _skew_is_ignored(fleet: Fleet) -> bool:
    """Where new machines do not start from boot images, nobody is warned (spec/node.md 3.3)."""
    found = fleet.settings.status.boot_image_skew_enforcement_status if fleet.settings else None
    if found is None or found.mode != "None":
        return False
    infra = fleet.controller.spec.infra if fleet.controller else None
    if infra is None:
        return True
    status = infra.status
    return status.control_plane_topology != _ONE_NODE and status.platform_status.type != _NO_BOOT_IMAGES


def _alerts(
    membership: Membership, nodes: Iterable[Node], movers: Mapping[str, str]
) -> dict[tuple[str, ...], float]:
    return {
        (node.name,): float(movers[node.name] == names.MASTER and bool(membership.custom(node)))
        for node in nodes
        if node.name in movers
    }


def _sub_controllers(
    syncs: Syncs, pools: set[str], nodes: set[str]
) -> Iterator[tuple[tuple[str, ...], float]]:
    for about, times in ((_NODE_SYNC, syncs.passes), (_RENDER_SYNC, syncs.targets)):
        for pool in times.keys() & pools:
            yield (*about, pool), times[pool]
    for node in syncs.drains.keys() & nodes:
        verb, time = syncs.drains[node]
        yield (_DRAIN, verb, node), time


def _states(fleet: Fleet, movers: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], float]]:
    """By each pool's own conditions: the original takes the newest one of the pools before, too."""
    said = {pool.name: _latest(pool.status.conditions) for pool in fleet.pools}
    for node, pool in movers.items():
        latest, seen = said[pool], fleet.syncs.passes.get(pool)
        if latest is not None and seen is not None:
            yield (node, pool, latest.type, latest.reason), seen


def _latest(conditions: Iterable[Condition]) -> Condition | None:
    """Of those that hold; the first one of the same second."""
    true = (condition for condition in conditions if condition.status == cond.TRUE)
    return max(true, key=lambda condition: condition.last_transition_time or "", default=None)


def _counts(pools: Iterable[MachineConfigPool]) -> Iterator[Family]:
    statuses = {(pool.name,): pool.status for pool in pools}
    for metric, count in _COUNTS.items():
        yield Family(metric, {pool: float(count(status)) for pool, status in statuses.items()})
