"""What an eviction takes from a budget, and the refusals when there is nothing to take."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mco.apiserver.disruption.status import ALLOWED, SYNC_FAILED, judged
from mco.apiserver.errors import StatusError
from mco.apiserver.writes.metadata import timestamp

Obj = dict[str, Any]

VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
BUSY_SECONDS = 10


def spares_unhealthy(spec: Obj, status: Obj) -> bool:
    """Whether a Pod that is not ready may go without taking from the budget."""
    if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return bool(0 < status["desiredHealthy"] <= status["currentHealthy"])


def spent(metadata: Obj, status: Obj, pod: str, now: datetime) -> Obj:
    """The status with one disruption less, taken for a Pod. Raises StatusError 429."""
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 1):
        busy = f"The disruption budget {name} is still being processed by the server."
        raise _refusal(busy, BUSY_SECONDS)
    if status["disruptionsAllowed"] == 0:
        raise _refusal(_why(name, status))
    disrupted = {**status.get("disruptedPods", {}), pod: timestamp(now)}
    left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
    return judged(left, now)


def _why(name: str, status: Obj) -> str:
    """Two of the real server's sentences: where its own status says why, the counts say the same."""
    condition = next(each for each in status["conditions"] if each["type"] == ALLOWED)
    if condition["reason"] == SYNC_FAILED:
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it failed sync: "
            f"{condition['message']}"
        )
    needed, healthy = status["desiredHealthy"], status["currentHealthy"]
    if healthy <= needed:
        return f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _refusal(cause: str, seconds: int = 0) -> StatusError:
    details: Obj = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return StatusError(429, "TooManyRequests", VIOLATED, details)
