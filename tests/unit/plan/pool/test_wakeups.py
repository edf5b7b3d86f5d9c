"""spec/node.md 3.3."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.plan.pool import wakeups
from tests.factories import node, pool


@pytest.mark.parametrize(
    "change",
    [
        node("n", "V1", "V2"),
        node("n", "V1", state="Working"),
        node("n", "V1", ready=False),
        node("n", "V1", unschedulable=True),
        node("n", "V1", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("n", "V1", labels={"a": "b"}),
        node("n", "V1", annotations={names.REASON: "r"}),
        node("n", "V1", annotations={names.DESIRED_IMAGE: "i"}),
        None,
    ],
)
def test_what_a_decision_reads_wakes_its_pool(change: Node | None) -> None:
    assert wakeups.by_node(node("n", "V1"), change)


def test_a_heartbeat_wakes_nobody() -> None:
    beat = node(
        "n", "V1", annotations={"other": "x"}, conditions=[{"type": "PIDPressure", "status": "False"}]
    )
    assert not wakeups.by_node(node("n", "V1"), beat)


def report(desired: str = "V1", at: str = "2026-01-01T00:00:00Z", **condition: Any) -> MachineConfigNode:
    said = {"type": "Updated", "status": "True", "reason": "", "message": "", "lastTransitionTime": at}
    body = {
        "metadata": {"name": "n"},
        "spec": {
            "node": {"name": "n"},
            "pool": {"name": "worker"},
            "configVersion": {"desired": desired},
        },
        "status": {"conditions": [said | condition]},
    }
    return msgspec.convert(body, MachineConfigNode)


def test_a_report_wakes_by_what_a_pass_reads_of_it() -> None:
    assert not wakeups.by_report(report(), report(at="2027-01-01T00:00:00Z"))
    assert not wakeups.by_report(report(), report("V2", status="False"))
    broken = report(type="NodeDegraded", message="no space")
    assert wakeups.by_report(report(), broken)
    assert wakeups.by_report(broken, report(type="NodeDegraded", message="read-only"))
    assert wakeups.by_report(report(), None)


def test_arbiters_wake_the_masters_with_whom_they_take_turns() -> None:
    assert wakeups.together({"arbiter", "worker"}) == {"arbiter", "worker", "master"}
    assert wakeups.together({"worker"}) == {"worker"}


def test_nodes_change_hands_when_a_pool_selects_others() -> None:
    assert not wakeups.all_pools(pool(), pool(config="V2", paused=True))
    assert wakeups.all_pools(pool(), pool(nodeSelector={"matchLabels": {"a": "b"}}))
    assert wakeups.all_pools(pool(), None)


def test_protocol_changes_are_told_but_not_those_of_a_completed_update() -> None:
    key = names.DESIRED_CONFIG
    assert wakeups.protocol_changes(node("n", "V1"), node("n", "V1", "V2")) == [f"Node n now has {key}=V2"]
    gone = wakeups.protocol_changes(node("n", "V1", annotations={names.REASON: "r"}), node("n", "V1"))
    assert gone == [f"Node n no longer has {names.REASON}"]
    assert wakeups.protocol_changes(node("n", "V1", "V2"), node("n", "V2")) == []
