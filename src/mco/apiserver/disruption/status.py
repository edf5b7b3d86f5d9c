"""What a PodDisruptionBudget allows, from its spec and the pods that it selects.

The rules are those of Kubernetes' disruption controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from mco.api.meta.objects import ObjectMeta
from mco.apiserver.strategies.budgets import percentage
from mco.apiserver.writes.metadata import timestamp

Obj = dict[str, Any]

DELETION_TIMEOUT = timedelta(minutes=2)
"""How long an evicted Pod may take to be marked; after that it counts again."""
ALLOWED = "DisruptionAllowed"
COUNTS = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
SUFFICIENT, INSUFFICIENT, SYNC_FAILED = "SufficientPods", "InsufficientPods", "SyncFailed"


class _PodCondition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _PodStatus(msgspec.Struct):
    phase: str = ""
    conditions: list[_PodCondition] = msgspec.field(default_factory=list)


class Pod(msgspec.Struct):
    """What budgets look at."""

    metadata: ObjectMeta
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)


decode_pod = msgspec.json.Decoder(Pod).decode

Scale = Callable[[Sequence[Pod]], int]
"""How many pods those who control these ones want."""


def status_of(budget: Obj, pods: Sequence[Pod], scale: Scale, now: datetime) -> Obj:
    """The budget's status; `pods` are those that it selects. What `scale` raises is raised."""
    expected, desired = _wanted(budget.get("spec") or {}, pods, scale)
    old = budget.get("status") or {}
    disrupted = _disrupted(old.get("disruptedPods") or {}, pods, now)
    healthy = sum(
        pod.ready and not pod.metadata.deletion_timestamp and pod.metadata.name not in disrupted
        for pod in pods
    )
    status: Obj = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": max(0, healthy - desired) if expected > 0 else 0,
        "expectedPods": expected,
        "observedGeneration": budget["metadata"].get("generation", 1),
        "conditions": old.get("conditions") or [],
    }
    if disrupted:
        status["disruptedPods"] = disrupted
    return judged(status, now)


def judged(status: Obj, now: datetime) -> Obj:
    """With the condition that follows from the disruptions allowed."""
    if status["disruptionsAllowed"] > 0:
        return _with_condition(status, "True", SUFFICIENT, "", now)
    return _with_condition(status, "False", INSUFFICIENT, "", now)


def failed(old: Obj, message: str, now: datetime) -> Obj:
    """The status of a budget whose needs cannot be told: nothing is allowed, and it says why."""
    status = dict.fromkeys(COUNTS, 0) | old | {"disruptionsAllowed": 0}
    return _with_condition(status, "False", SYNC_FAILED, message, now)


def recheck(status: Obj) -> datetime | None:
    """When an evicted Pod counts again that is still there."""
    times = [datetime.fromisoformat(time) for time in (status.get("disruptedPods") or {}).values()]
    return min(times) + DELETION_TIMEOUT if times else None


def scaled(value: int | str, total: int) -> int:
    """A number, or a percentage of `total` rounded up."""
    if isinstance(value, int):
        return value
    return -(-percentage(value) * total // 100)


def _wanted(spec: Obj, pods: Sequence[Pod], scale: Scale) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    unavailable, available = spec.get("maxUnavailable"), spec.get("minAvailable")
    if unavailable is not None:
        expected = scale(pods)
        return expected, max(0, expected - scaled(unavailable, expected))
    if isinstance(available, str):
        expected = scale(pods)
        return expected, scaled(available, expected)
    return (len(pods), available) if available is not None else (0, 0)


def _disrupted(known: Mapping[str, str], pods: Sequence[Pod], now: datetime) -> dict[str, str]:
    """The evicted pods that are about to go: they are there, not marked yet, and not late."""
    names = {pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}
    return {
        name: time
        for name, time in known.items()
        if name in names and datetime.fromisoformat(time) + DELETION_TIMEOUT >= now
    }


def _with_condition(status: Obj, value: str, reason: str, message: str, now: datetime) -> Obj:
    conditions = list(status.get("conditions") or ())
    place = next((i for i, each in enumerate(conditions) if each.get("type") == ALLOWED), len(conditions))
    old = conditions[place] if place < len(conditions) else {}
    since = old.get("lastTransitionTime") if old.get("status") == value else None
    condition = {
        "type": ALLOWED,
        "status": value,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": since or timestamp(now),
        "reason": reason,
        "message": message,
    }
    conditions[place:] = [condition, *conditions[place + 1 :]]
    return {**status, "conditions": conditions}
