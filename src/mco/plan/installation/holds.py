"""Which nodes must not be told to move, because of who would carry it out (spec/operator.md 0.1, d).

A node is held by its own daemon: when that does not run, or is of another version than the operator. The
fleet is held only while the operator's own version changes, until the control plane is where the new version
wants it or a deadline passes. Nobody's `paused` is touched.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from mco.api.core import Pod
from mco.api.machineconfigpool import UPDATED, MachineConfigPool
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition

UPDATES_HELD = "UpdatesHeld"
"""The condition of the MachineConfiguration."""
FLEET_SECONDS = 1800.0
AS_EXPECTED, VERSION_CHANGING, DEADLINE_PASSED = "AsExpected", "OperatorVersionChanging", "DeadlinePassed"


def daemon_hold(pod: Pod | None, image: str) -> str:
    """Why a node cannot take a new config from its daemon; empty when it can."""
    if pod is None or pod.metadata.deletion_timestamp:
        return "no machine config daemon runs on it"
    if not cond.is_true(pod.status.conditions, "Ready"):
        return f"its machine config daemon, {pod.name}, is not ready"
    found = {container.image for container in pod.spec.containers or ()}
    if image not in found:
        return f"its machine config daemon, {pod.name}, is of another version"
    return ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the operator's version. `stable`: the control plane is where the new version wants it."""

    old: str
    new: str
    stable: bool

    @property
    def over(self) -> bool:
        return self.stable or not self.old or self.old == self.new


def stable(masters: MachineConfigPool | None, invalid: str) -> bool:
    """`invalid`: why the pool's configuration is not this version's. A control plane without nodes holds
    nobody."""
    if masters is None or masters.status.machine_count == 0:
        return True
    current = masters.metadata.generation <= masters.status.observed_generation
    return not invalid and current and cond.is_true(masters.status.conditions, UPDATED)


def fleet(before: Condition | None, change: Change, now: datetime) -> Condition:
    """The condition as it has to be."""
    if change.over:
        return Condition(type=UPDATES_HELD, status=cond.FALSE, reason=AS_EXPECTED)
    held = before is not None and before.status == cond.TRUE
    if (held and not remaining(before, now)) or (before is not None and before.reason == DEADLINE_PASSED):
        text = f"the control plane was not stable {FLEET_SECONDS / 60:g} minutes after the version changed"
        return Condition(type=UPDATES_HELD, status=cond.FALSE, reason=DEADLINE_PASSED, message=text)
    text = f"the operator's version changes from {change.old} to {change.new}"
    return Condition(
        type=UPDATES_HELD,
        status=cond.TRUE,
        reason=VERSION_CHANGING,
        message=f"{text}; no node but those of the control plane moves until that is stable",
    )


def remaining(condition: Condition | None, now: datetime) -> float:
    """Seconds for which the condition holds the fleet; zero when it does not. It ends by itself: an operator
    that died meanwhile must not hold anybody for ever."""
    if condition is None or condition.status != cond.TRUE or not condition.last_transition_time:
        return 0.0
    since = datetime.fromisoformat(condition.last_transition_time)
    return max(0.0, (since + timedelta(seconds=FLEET_SECONDS) - now).total_seconds())
