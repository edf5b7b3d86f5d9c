"""spec/node.md 5.2 and 12.10: the conditions of a MachineConfigNode."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api.machineconfignode import MachineConfigNode, MachineConfigNodeStatus
from mco.plan import report
from mco.plan.report import Step
from tests.factories import node

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"
NODE = node("w1", "V0", "V1")


def fresh() -> MachineConfigNode:
    body = {"metadata": {"name": "w1", "generation": 2}, "spec": {"configVersion": {"desired": "V1"}}}
    return msgspec.convert(body, MachineConfigNode)


def after(found: MachineConfigNode, *steps: Step, now: str = NOW) -> MachineConfigNode:
    for step in steps:
        status = report.status_patch(found, NODE, step, now)
        if status:
            found = msgspec.convert(msgspec.to_builtins(found) | {"status": status}, MachineConfigNode)
    return found


def states(found: MachineConfigNode) -> dict[str, str]:
    return {c.type: c.status for c in found.status.conditions if c.reason != report.NOT_YET_OCCURRED}


def test_the_first_step_lists_every_condition() -> None:
    found = after(fresh(), Step(parent=report.UPDATED, status="False", message="Node w1 needs an update"))
    assert {c.type for c in found.status.conditions} == set(report.TYPES)
    pending = found.status.conditions[1]
    assert pending.message == "This node has not yet entered the UpdatePrepared phase"
    assert (pending.status, pending.reason) == ("False", "NotYetOccurred")
    assert found.status.observed_generation == 3
    assert (found.status.config_version.current, found.status.config_version.desired) == ("V0", "V1")


def test_a_child_carries_its_parents_name_in_its_reason() -> None:
    step = Step(
        parent="UpdateExecuted", status="Unknown", reason="Drained", child="Drained", child_status="True"
    )
    found = after(fresh(), step)
    reasons = {c.type: c.reason for c in found.status.conditions}
    assert reasons["Drained"] == "UpdateExecutedDrained"
    assert reasons["UpdateExecuted"] == "Drained"


def test_a_child_is_written_though_its_parent_did_not_change() -> None:
    parent = {"parent": "UpdateExecuted", "status": "Unknown", "child": "Cordoned"}
    found = after(fresh(), Step(**parent, child_status="Unknown"), Step(**parent, child_status="True"))
    assert states(found) == {"UpdateExecuted": "Unknown", "Cordoned": "True"}


def test_updated_takes_everything_else_back() -> None:
    found = after(
        fresh(),
        Step(parent=report.RESUMED, message="In desired config V1. Resumed normal operations."),
        Step(parent=report.NODE_DEGRADED, message="upgrade failure"),
        Step(parent=report.UPDATED, message="Node w1 Updated"),
    )
    assert states(found) == {"Resumed": "False", "NodeDegraded": "False", "Updated": "True"}
    messages = {c.type: c.message for c in found.status.conditions}
    assert messages["NodeDegraded"] == "Action during update to V1: upgrade failure"
    assert messages["Updated"] == "Node w1 Updated"


def test_saying_the_same_again_writes_nothing() -> None:
    step = Step(parent=report.UPDATED, message="Node w1 Updated")
    assert report.status_patch(after(fresh(), step), NODE, step, LATER) is None


def test_a_stale_generation_is_written_though_nothing_else_changed() -> None:
    step = Step(parent=report.UPDATED, message="Node w1 Updated")
    found = after(fresh(), step)
    edited = msgspec.convert(
        msgspec.to_builtins(found) | {"metadata": {"name": "w1", "generation": 5}}, MachineConfigNode
    )
    patch: dict[str, Any] | None = report.status_patch(edited, NODE, step, LATER)
    assert patch is not None
    assert patch["observedGeneration"] == 6


@pytest.mark.parametrize(
    ("step", "annotated", "desired"),
    [
        (Step(parent=report.UPDATE_PREPARED), "V1", "V1"),
        (Step(parent=report.UPDATE_PREPARED, status="Unknown"), "V1", "not-yet-set"),
        (Step(parent=report.RESUMED), "", "not-yet-set"),
        (Step(parent=report.UPDATE_PREPARED), "", ""),
    ],
)
def test_desired_config(step: Step, annotated: str, desired: str) -> None:
    """A config that failed its checks was never on its way."""
    status = report.status_patch(fresh(), node("w1", "V0", annotated), step, NOW)
    assert status is not None
    assert status["configVersion"].get("desired", "") == desired


def test_steps_that_end_where_the_report_is_write_nothing() -> None:
    """Cordon and drain say one parent after the other."""
    patch = report.status_after(fresh(), NODE, report.drained("w1"), NOW)
    assert patch is not None
    said = msgspec.structs.replace(fresh(), status=msgspec.convert(patch, MachineConfigNodeStatus))
    assert report.status_after(said, NODE, report.drained("w1"), LATER) is None
    reasons = {c.type: (c.status, c.reason) for c in said.status.conditions}
    assert reasons["UpdateExecuted"] == ("Unknown", "Drained")
    assert reasons["Cordoned"] == ("True", "UpdateExecutedCordoned")
    assert reasons["Drained"] == ("True", "UpdateExecutedDrained")
