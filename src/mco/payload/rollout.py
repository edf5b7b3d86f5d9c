"""Waits until what was applied runs: workloads are rolled out, the operator reports its version
(spec/operator.md 1.7, 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mco.base.errors import MCOError, Unavailable
from mco.kube.wholes import Wholes
from mco.payload import gate
from mco.payload.manifest import Manifest
from mco.runtime.clock import Clock

POLL = 1.0


async def settled(
    manifests: Sequence[Manifest],
    objects: Wholes,
    clock: Clock,
    report: Callable[[str], None],
    timeout: float,
) -> None:
    """Returns when all of them are; `report` hears what is waited for, once. Raises Unavailable with that
    after `timeout` seconds."""
    deadline, said = clock.monotonic() + timeout, ""
    for each in manifests:
        while why := await _unsettled(each, objects):
            if clock.monotonic() > deadline:
                raise Unavailable(f"timed out waiting: {why}", subject=str(each.identity))
            if why != said:
                report(why)
                said = why
            await clock.sleep(POLL)


async def _unsettled(each: Manifest, objects: Wholes) -> str:
    judge = _JUDGES.get(each.kind)
    if judge is None or each.deletes:
        return ""
    try:
        return judge(each, await objects.get(each.body) or {})
    except MCOError as error:
        return str(error)


def _deployment(each: Manifest, found: Mapping[str, Any]) -> str:
    status, wanted = found.get("status") or {}, (found.get("spec") or {}).get("replicas", 1)
    rolled_out = (
        _observed(found)
        and status.get("updatedReplicas", 0) == status.get("replicas", 0) == wanted
        and not status.get("unavailableReplicas", 0)
    )
    return (
        ""
        if rolled_out
        else f"{each.identity} is not rolled out: {_counted(status, 'updatedReplicas', wanted)}"
    )


def _daemon_set(each: Manifest, found: Mapping[str, Any]) -> str:
    status = found.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    rolled_out = (
        _observed(found)
        and status.get("updatedNumberScheduled", 0) == wanted
        and not status.get("numberUnavailable", 0)
    )
    return (
        ""
        if rolled_out
        else f"{each.identity} is not rolled out: {_counted(status, 'updatedNumberScheduled', wanted)}"
    )


def _operator(each: Manifest, found: Mapping[str, Any]) -> str:
    closed = gate.closed(each.body, found, initializing=False)
    return closed.message if closed else ""


def _observed(found: Mapping[str, Any]) -> bool:
    generation = (found.get("metadata") or {}).get("generation", 1)
    return bool((found.get("status") or {}).get("observedGeneration", 0) >= generation)


def _counted(status: Mapping[str, Any], field: str, wanted: int) -> str:
    return f"{status.get(field, 0)} of {wanted} updated"


_JUDGES: Mapping[str, Callable[[Manifest, Mapping[str, Any]], str]] = {
    "ClusterOperator": _operator,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
}
