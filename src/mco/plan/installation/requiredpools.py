"""The last gate of a pass: pools that have to be where this version wants them (spec/operator.md 1.14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mco.api import machineconfigpool as mcp
from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.base.errors import Unavailable
from mco.plan.installation.outcome import Waiting

SECONDS_PER_MACHINE = 600.0
_DURING = "syncRequiredMachineConfigPools"

Validity = Callable[[MachineConfigPool], str]
"""Why a pool's configuration is not this version's; empty when it is."""


class Paused(Unavailable):
    """A required pool cannot get there, because somebody paused it."""


def required(pool: MachineConfigPool) -> bool:
    return names.REQUIRED_FOR_UPGRADE_LABEL in (pool.metadata.labels or {})


def gate(pools: Sequence[MachineConfigPool], validity: Validity) -> Waiting | None:
    """What is waited for, None when every required pool is there. Raises Paused."""
    text = _degraded(pools) or next(filter(None, (_missing(p, validity) for p in _in_order(pools))), "")
    if not text:
        return None
    machines = sum(pool.status.machine_count for pool in pools if required(pool))
    # Before the first machine has joined nothing is late.
    patience = SECONDS_PER_MACHINE * machines if machines else None
    return Waiting(message=text, patience=patience, during=_DURING)


def _in_order(pools: Sequence[MachineConfigPool]) -> list[MachineConfigPool]:
    return sorted(filter(required, pools), key=lambda pool: pool.name)


def _degraded(pools: Sequence[MachineConfigPool]) -> str:
    """Any pool counts, required or not."""
    for pool in sorted(pools, key=lambda pool: pool.name):
        found = cond.find(pool.status.conditions, mcp.DEGRADED)
        if found and found.status == cond.TRUE:
            counts = f"{_counts(pool)}, reason: {found.message or found.reason}"
            text = f"error MachineConfigPool {pool.name} is not ready, retrying. Status: "
            return f"{text}(pool degraded: true {counts})"
    return ""


def _missing(pool: MachineConfigPool, validity: Validity) -> str:
    invalid = validity(pool)
    updated = cond.is_true(pool.status.conditions, mcp.UPDATED)
    if pool.spec.paused and (invalid or not updated):
        raise _paused(pool, updated)
    if invalid:
        start = f"MachineConfigPool {pool.name} has not progressed to latest configuration"
        return f"{start}: {invalid}, retrying"
    if updated and pool.metadata.generation <= pool.status.observed_generation:
        return ""
    counts = f"{_counts(pool)}, degraded: {pool.status.degraded_machine_count}"
    return f"error required MachineConfigPool {pool.name} is not ready, retrying. Status: ({counts})"


def _paused(pool: MachineConfigPool, updated: bool) -> Paused:
    if updated:
        start = f"the required MachineConfigPool {pool.name} was paused with no pending updates"
        text = f"{start}; no further syncing will occur until it is unpaused"
    else:
        text = f"error required MachineConfigPool {pool.name} is paused and cannot sync until it is unpaused"
    return Paused(text, subject=f"MachineConfigPool/{pool.name}", hint="set its spec.paused to false")


def _counts(pool: MachineConfigPool) -> str:
    status = pool.status
    return (
        f"total: {status.machine_count}, ready {status.ready_machine_count}, "
        f"updated: {status.updated_machine_count}, unavailable: {status.unavailable_machine_count}"
    )
