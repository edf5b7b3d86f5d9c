"""Where a pool stands in one sentence: `status.extension` of the ClusterOperator (spec/operator.md 1.3)."""

from __future__ import annotations

from collections.abc import Iterable

from mco.api import machineconfigpool as mcp
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.base.text import quote

PINNED_IMAGE_SETS_DEGRADED = "PinnedImageSetsDegraded"
LAST_SYNC_ERROR = "lastSyncError"
_BROKEN = (
    (mcp.RENDER_DEGRADED, "rendering fails"),
    (mcp.NODE_DEGRADED, "nodes fail"),
)


def pool_text(pool: MachineConfigPool) -> str:
    conditions, status = pool.status.conditions, pool.status
    for type_, what in _BROKEN:
        if cond.is_true(conditions, type_):
            return _broken(pool, type_, what)
    if cond.is_true(conditions, mcp.UPDATED):
        return f"all {status.machine_count} nodes are at latest configuration {status.configuration.name}"
    if cond.is_true(conditions, mcp.UPDATING):
        updated = f"{status.updated_machine_count} (ready {status.ready_machine_count})"
        target = f"latest configuration {pool.spec.configuration.name}"
        return f"{updated} out of {status.machine_count} nodes are updating to {target}"
    if cond.is_true(conditions, PINNED_IMAGE_SETS_DEGRADED):
        return _broken(pool, PINNED_IMAGE_SETS_DEGRADED, "pinned image sets failed")
    return "<unknown>"


def extension(pools: Iterable[MachineConfigPool], waiting: str = "") -> dict[str, str]:
    """One key per pool; `waiting` is what the required pools are waited for."""
    texts = {pool.name: pool_text(pool) for pool in sorted(pools, key=lambda pool: pool.name)}
    return texts | ({LAST_SYNC_ERROR: waiting} if waiting else {})


def _broken(pool: MachineConfigPool, type_: str, what: str) -> str:
    found = cond.find(pool.status.conditions, type_)
    assert found is not None
    return f"pool is degraded because {what} with {quote(found.reason)}: {quote(found.message)}"
