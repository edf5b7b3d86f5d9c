"""What is shown of a fleet: the controllers' own decisions, asked for their reasons."""

from __future__ import annotations

import pytest

from mco.api.machineconfignode import MachineConfigNode, MachineConfigNodeStatus
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import ObjectMeta
from mco.fleet.hosts import Phase
from mco.fleet.screen import Row, describe
from mco.fleet.view import view
from mco.fleet.watch import all_updated, blockers, row
from tests.factories import node, pool

UPDATED = {
    "conditions": [{"type": "Updated", "status": "True"}],
    "configuration": {"name": "V1"},
    "machineCount": 2,
    "updatedMachineCount": 2,
}
DEGRADED = {
    "conditions": [
        {"type": "RenderDegraded", "status": "True", "message": "Failed to render configuration"},
        {"type": "Degraded", "status": "True"},
    ]
}


def test_nodes_say_why_they_wait() -> None:
    fleet = view([pool(config="V1")], [node("b", "V0"), node("a", "V0", "V1", state="Working")])
    assert {n.name: n.waiting for n in fleet.nodes} == {
        "a": "",
        "b": "maxUnavailable is 1; unavailable: a",
    }
    assert fleet.nodes[0].state == "Working"


def test_a_pool_that_cannot_be_rendered_says_why() -> None:
    fleet = view([pool(status=DEGRADED)], [])
    assert fleet.pools[0].degraded
    assert blockers(fleet) == ["pool worker: Failed to render configuration"]


def test_a_node_of_two_custom_pools_says_so() -> None:
    labels = {"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/edge": ""}
    fleet = view([pool("infra"), pool("edge")], [node("n", "V0", labels=labels)])
    assert fleet.nodes[0].pool == ""
    assert "belongs to 2 custom roles" in fleet.nodes[0].reason


def test_a_pool_whose_max_unavailable_is_a_word_says_so() -> None:
    fleet = view([pool(maxUnavailable="many")], [node("n", "V0")])
    assert "$.spec.maxUnavailable" in fleet.nodes[0].waiting


def test_updated_means_every_machine_is_counted() -> None:
    fleet = view([pool(config="V1", status=UPDATED)], [])
    assert all_updated(fleet, {"a": "worker", "b": "worker"})
    assert not all_updated(fleet, {"a": "worker", "b": "worker", "c": "worker"})
    stale = view([pool(config="V2", status=UPDATED)], [])
    assert not all_updated(stale, {"a": "worker", "b": "worker"})


def test_a_machine_that_is_down_speaks_for_itself() -> None:
    fleet = view([pool(config="V1")], [node("n", "V0", "V1")])
    down = row("n", "worker", Phase(text="rebooting", boots=1), fleet.nodes[0])
    assert (down.phase, down.config, down.reboots) == ("rebooting", "V1", 0)
    up = row("n", "worker", Phase(text="running", boots=2), fleet.nodes[0])
    assert (up.phase, up.reboots) == ("targeted", 1)
    new = row("n", "edge", Phase(text="provisioning", boots=0, note="no answer\nmore"), None)
    assert (new.phase, new.pool, new.note) == ("provisioning", "edge", "no answer")


def test_a_line_of_a_row() -> None:
    text = describe(Row(name="n", phase="Working", config="rendered-worker-1", reboots=1, note="why"))
    assert text == "n          Working rendered-worker-1, 1 reboot (why)"


def test_a_pool_that_was_never_rendered_is_degraded_too() -> None:
    conditions = [{"type": "RenderDegraded", "status": "True", "message": "no MachineConfigs found"}]
    (found,) = view([pool(status={"conditions": conditions})], []).pools
    assert (found.degraded, found.unrendered, found.message) == (True, True, "no MachineConfigs found")


@pytest.mark.parametrize(("status", "said"), [("True", "Units that failed: a.service"), ("False", "")])
def test_units_that_failed_are_told_beside_the_node(status: str, said: str) -> None:
    condition = Condition(type="UnitsFailed", status=status, message="Units that failed: a.service")
    report = MachineConfigNode(
        metadata=ObjectMeta(name="a"), status=MachineConfigNodeStatus(conditions=(condition,))
    )
    fleet = view([pool(config="V1")], [node("a", "V1")], [report])
    assert fleet.nodes[0].failed_units == said
