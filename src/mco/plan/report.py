"""What a MachineConfigNode's status says after one more step of an update (spec/node.md 5.2).

The daemon and the drain controller both write it. A step is a *parent* condition and, for some, a *child*;
the rest of the list follows. The original drops a child whose parent did not change; here it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode, MachineConfigNodeStatus, StatusConfigVersion
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition

UPDATED = "Updated"
UPDATE_PREPARED = "UpdatePrepared"
UPDATE_EXECUTED = "UpdateExecuted"
UPDATE_POST_ACTION_COMPLETE = "UpdatePostActionComplete"
UPDATE_COMPLETE = "UpdateComplete"
RESUMED = "Resumed"
DRAINED = "Drained"
APPLIED_FILES_AND_OS = "AppliedFilesAndOS"
CORDONED = "Cordoned"
UNCORDONED = "Uncordoned"
REBOOTED_NODE = "RebootedNode"
NODE_DEGRADED = "NodeDegraded"
PINNED_IMAGE_SETS_DEGRADED = "PinnedImageSetsDegraded"
PINNED_IMAGE_SETS_PROGRESSING = "PinnedImageSetsProgressing"

TYPES = (
    UPDATE_PREPARED,
    UPDATE_EXECUTED,
    UPDATE_POST_ACTION_COMPLETE,
    UPDATE_COMPLETE,
    RESUMED,
    DRAINED,
    APPLIED_FILES_AND_OS,
    CORDONED,
    REBOOTED_NODE,
    UPDATED,
    UNCORDONED,
    NODE_DEGRADED,
    PINNED_IMAGE_SETS_DEGRADED,
    PINNED_IMAGE_SETS_PROGRESSING,
)
NOT_YET_OCCURRED = "NotYetOccurred"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A parent condition and its child. `reason` defaults to the parent's type; a child's reason is the
    parent's type followed by its own."""

    parent: str
    status: str = cond.TRUE
    reason: str = ""
    message: str = ""
    child: str = ""
    child_status: str = cond.TRUE
    child_message: str = ""


def executing(child: str, status: str, message: str) -> Step:
    """Cordon and drain are children of an update that has not been executed yet."""
    return Step(
        parent=UPDATE_EXECUTED,
        status=cond.UNKNOWN,
        reason=child,
        message=message,
        child=child,
        child_status=status,
        child_message=message,
    )


def drained(node: str) -> tuple[Step, Step]:
    """A request for a drain was fulfilled."""
    return (
        executing(CORDONED, cond.TRUE, f"Cordoned Node {node}"),
        executing(DRAINED, cond.TRUE, f"Drained Node {node}"),
    )


def status_patch(found: MachineConfigNode, node: Node, step: Step, now: str) -> dict[str, Any] | None:
    """The merge patch of the status after `step` at `now` (RFC 3339), None when it already says so."""
    conditions = _advance(found, step, now)
    version = _version(node, step)
    observed = found.metadata.generation + 1
    same = _facts(conditions) == _facts(found.status.conditions)
    if same and found.status.config_version == version and found.status.observed_generation == observed:
        return None
    return {
        "observedGeneration": observed,
        "configVersion": msgspec.to_builtins(version),
        "conditions": [msgspec.to_builtins(condition) for condition in conditions],
    }


def status_after(
    found: MachineConfigNode, node: Node, steps: Iterable[Step], now: str
) -> dict[str, Any] | None:
    """`status_patch` for several steps, one after the other, as one change; None when they end where the
    report is."""
    patch: dict[str, Any] | None = None
    before = _said(found.status)
    for step in steps:
        if (taken := status_patch(found, node, step, now)) is not None:
            patch = taken
            status = msgspec.convert(taken, MachineConfigNodeStatus)
            found = msgspec.structs.replace(found, status=status)
    return patch if _said(found.status) != before else None


def _advance(found: MachineConfigNode, step: Step, now: str) -> tuple[Condition, ...]:
    parent, child = _parent(step), _child(step)
    written = tuple(c for c in (parent, child) if c is not None)
    if not found.status.conditions:
        others = (_pending(type_) for type_ in TYPES if type_ not in {c.type for c in written})
        return tuple(_at(now, c) for c in (*written, *others))
    if all(_says(found.status.conditions, new) for new in written):
        return found.status.conditions
    conditions = list(found.status.conditions)
    if parent.type == UPDATED:
        conditions = [_reset(c, found.spec.config_version.desired, now) for c in conditions]
    for new in written:
        _replace(conditions, _at(now, new))
    return tuple(conditions)


def _replace(conditions: list[Condition], new: Condition) -> None:
    for index, old in enumerate(conditions):
        if old.type == new.type:
            conditions[index] = new
            return
    conditions.append(new)


def _reset(condition: Condition, desired: str, now: str) -> Condition:
    """A finished or restarted update takes every other condition back to False; its text stays readable."""
    if condition.type == UPDATED or condition.status == cond.FALSE:
        return condition
    message = f"Action during update to {desired}: {condition.message}"
    return msgspec.structs.replace(condition, status=cond.FALSE, message=message, last_transition_time=now)


def _parent(step: Step) -> Condition:
    return Condition(
        type=step.parent, status=step.status, reason=step.reason or step.parent, message=step.message
    )


def _child(step: Step) -> Condition | None:
    if not step.child:
        return None
    reason = step.parent + step.child
    return Condition(type=step.child, status=step.child_status, reason=reason, message=step.child_message)


def _pending(type_: str) -> Condition:
    message = f"This node has not yet entered the {type_} phase"
    return Condition(type=type_, status=cond.FALSE, reason=NOT_YET_OCCURRED, message=message)


def _at(now: str, condition: Condition) -> Condition:
    return msgspec.structs.replace(condition, last_transition_time=now)


def _version(node: Node, step: Step) -> StatusConfigVersion:
    """A config that failed its checks was never on its way, so it is not reported as desired."""
    desired = node.metadata.annotation(names.DESIRED_CONFIG) or ""
    prepared = step.parent == UPDATE_PREPARED
    if (prepared and step.status != cond.TRUE) or (not desired and not prepared):
        desired = names.NOT_YET_SET
    return StatusConfigVersion(current=node.metadata.annotation(names.CURRENT_CONFIG) or "", desired=desired)


def _says(conditions: Sequence[Condition], new: Condition) -> bool:
    """Whether a condition is there already; its reason alone is no news."""
    old = cond.find(conditions, new.type)
    return old is not None and (old.status, old.message) == (new.status, new.message)


def _facts(conditions: Sequence[Condition]) -> dict[str, tuple[str, str, str]]:
    return {c.type: (c.status, c.reason, c.message) for c in conditions}


def _said(status: MachineConfigNodeStatus) -> tuple[object, ...]:
    """What a status says, whenever it said it."""
    return _facts(status.conditions), status.config_version, status.observed_generation
