"""spec/node.md 3.8, 12.8 and 12.9."""

from __future__ import annotations

import msgspec
import pytest

from mco.api.controllerconfig import ControllerCertificate
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.plan.pool import nodes as state
from mco.plan.pool import status
from tests.factories import node, pool

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T01:00:00Z"


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "ready"),
    [
        ([("Ready", "True")], False, True),
        ([("DiskPressure", "False")], False, True),
        ([("Ready", "True"), ("DiskPressure", "False")], False, True),
        ([], False, True),
        ([("Ready", "False")], False, False),
        ([("Ready", "Unknown")], False, False),
        ([("DiskPressure", "True")], False, False),
        ([("Ready", "True"), ("DiskPressure", "True")], False, False),
        ([("Ready", "False"), ("DiskPressure", "True")], False, False),
        ([("NetworkUnavailable", "True")], False, False),
        ([("MemoryPressure", "True")], False, True),
        ([], True, False),
    ],
)
def test_readiness(conditions: list[tuple[str, str]], unschedulable: bool, ready: bool) -> None:
    rows = [{"type": type_, "status": value} for type_, value in conditions]
    subject = node("n", ready=None, conditions=rows, unschedulable=unschedulable)
    assert (state.unready(subject) is None) is ready


IMAGES = ("machineconfiguration.openshift.io/currentImage", "machineconfiguration.openshift.io/desiredImage")


@pytest.mark.parametrize(
    ("subject", "done", "unavailable"),
    [
        (node("n", "V1"), True, False),
        (node("n", "V0"), True, False),
        (node("n", "V0", "V1", state="Working"), False, True),
        (node("n", "V0", "V1"), False, True),
        (node("n", "V1", state="Degraded"), False, True),
        (node("n", "V0", "V1", state="Degraded"), False, False),
        (node("n", "V0", "V1", state="Unreconcilable"), False, False),
        (node("n", "V0", "V1", state="Degraded", ready=False), False, True),
        (node("n", "V1", state="Rebooting"), False, True),
        (node("n", "V1", ready=False), True, True),
        (node("n", "V1", annotations={IMAGES[0]: "i", IMAGES[1]: "i"}), True, False),
        (node("n", "V1", annotations={IMAGES[0]: "i", IMAGES[1]: "j"}), False, True),
        (node("n", "V1", annotations={IMAGES[1]: "i"}), False, True),
        (node("n", "V1", annotations={IMAGES[0]: "", IMAGES[1]: "i"}), False, True),
        (node("n", None), False, True),
    ],
)
def test_predicates(subject: Node, done: bool, unavailable: bool) -> None:
    assert (state.done(subject), state.unavailable(subject)) == (done, unavailable)


V0, V1 = node("a", "V0"), node("a", "V1")
MOVING = node("b", "V0", "V1", state="Working")


@pytest.mark.parametrize(
    ("members", "paused", "counts", "conditions"),
    [
        ([node("a", "V0"), node("b", "V0"), node("c", "V0")], False, (3, 0, 0, 0, 0), "FTF"),
        ([MOVING, V0, node("c", "V0")], False, (3, 0, 0, 1, 0), "FTF"),
        ([MOVING, V0, node("c", "V0")], True, (3, 0, 0, 1, 0), "FFF"),
        ([node("b", "V0", "V1", state="Working", ready=False), V0, V0], False, (3, 0, 0, 1, 0), "FTF"),
        ([node("b", "V0", "V1", state="Degraded", ready=False), V0, V0], False, (3, 0, 0, 1, 1), "FTT"),
        ([node("b", "V1", ready=False), V0, V0], False, (3, 1, 0, 1, 0), "FTF"),
        ([V1, MOVING, MOVING], False, (3, 1, 1, 2, 0), "FTF"),
        ([V1, V1, V1], False, (3, 3, 3, 0, 0), "TFF"),
        ([], False, (0, 0, 0, 0, 0), "TFF"),
    ],
)
def test_counts_and_conditions(
    members: list[Node], paused: bool, counts: tuple[int, ...], conditions: str
) -> None:
    new = status.status(pool(paused=paused), members, {}, (), NOW)
    assert counts == (
        new.machine_count,
        new.updated_machine_count,
        new.ready_machine_count,
        new.unavailable_machine_count,
        new.degraded_machine_count,
    )
    found = [cond.find(new.conditions, type_) for type_ in ("Updated", "Updating", "Degraded")]
    assert "".join(c.status[0] for c in found if c) == conditions


def with_status(source: MachineConfigPool, new: object) -> MachineConfigPool:
    return msgspec.structs.replace(source, status=new)


def test_messages_are_the_originals() -> None:
    done = status.status(pool(config="rendered-worker-1"), [node("a", "rendered-worker-1")], {}, (), NOW)
    updated = cond.find(done.conditions, "Updated")
    assert updated and updated.message == "All nodes are updated with MachineConfig rendered-worker-1"
    moving = status.status(pool(), [V0], {}, (), NOW)
    updating = cond.find(moving.conditions, "Updating")
    assert updating and updating.message == "All nodes are updating to MachineConfig V1"
    paused = status.status(pool(paused=True), [V0], {}, (), NOW)
    updating = cond.find(paused.conditions, "Updating")
    assert updating and updating.message == "Pool is paused; will not update to MachineConfig V1"


def test_degraded_nodes_speak_through_report_and_annotation() -> None:
    reason = {"machineconfiguration.openshift.io/reason": 'cannot write "/etc/a": No space left'}
    members = [node("a", "V0", "V1", state="Degraded", annotations=reason)]
    report = msgspec.convert(
        {
            "status": {
                "conditions": [{"type": "NodeDegraded", "status": "True", "message": "upgrade failure"}]
            }
        },
        MachineConfigNode,
    )
    new = status.status(pool(), members, {"a": report}, (), NOW)
    broken, degraded = cond.find(new.conditions, "NodeDegraded"), cond.find(new.conditions, "Degraded")
    assert broken and degraded
    assert broken.reason == "1 nodes are reporting degraded status on sync"
    assert broken.message == (
        'Node a is reporting: "upgrade failure", '
        'Node a is reporting: "cannot write \\"/etc/a\\": No space left"'
    )
    assert (degraded.reason, degraded.message) == ("", broken.message)


def test_a_pool_that_cannot_be_rendered_is_degraded_without_a_message() -> None:
    conditions = {"conditions": [{"type": "RenderDegraded", "status": "True", "message": "Failed to render"}]}
    new = status.status(pool(status=conditions), [V1], {}, (), NOW)
    degraded = cond.find(new.conditions, "Degraded")
    assert degraded and (degraded.status, degraded.message) == ("True", "")


def test_the_reached_configuration_moves_only_when_every_node_is_there() -> None:
    before = pool(config="V1", status={"configuration": {"name": "V0"}})
    assert status.status(before, [V0], {}, (), NOW).configuration.name == "V0"
    assert status.status(before, [V1], {}, (), NOW).configuration.name == "V1"


def test_an_unchanged_status_is_equal_and_keeps_its_times() -> None:
    first = status.status(pool(), [MOVING], {}, (), NOW)
    again = status.status(with_status(pool(), first), [MOVING], {}, (), LATER)
    assert again == first
    done = status.status(with_status(pool(), first), [V1], {}, (), LATER)
    degraded, updated = cond.find(done.conditions, "Degraded"), cond.find(done.conditions, "Updated")
    assert degraded and degraded.last_transition_time == NOW
    assert updated and updated.last_transition_time == LATER


def test_api_server_certificates_are_listed() -> None:
    certificates = [
        ControllerCertificate(
            subject="CN=a", signer="CN=s", bundle_file="KubeAPIServerServingCAData", not_after=LATER
        ),
        ControllerCertificate(subject="CN=b", signer="CN=s", bundle_file="RootCAData", not_after=LATER),
    ]
    new = status.status(pool(), [], {}, certificates, NOW)
    assert [(c.bundle, c.subject, c.expiry) for c in new.cert_expirys] == [
        ("KubeAPIServerServingCAData", "CN=a", LATER)
    ]


def test_a_patch_writes_zeros_and_empty_lists() -> None:
    """A counter that falls to zero must be written, or the old number would stay."""
    patch = status.as_patch(status.status(pool(), [V1], {}, (), NOW))
    assert patch["degradedMachineCount"] == 0
    assert patch["unavailableMachineCount"] == 0
    assert patch["certExpirys"] == []


def test_a_build_failure_that_outlived_its_build_is_cleared() -> None:
    old = {"conditions": [{"type": "ImageBuildDegraded", "status": "True", "reason": "BuildFailed"}]}
    new = status.status(pool(status=old), [], {}, (), "2026-01-01T00:00:00Z")
    found = {c.type: c for c in new.conditions}
    assert (found["ImageBuildDegraded"].status, found["ImageBuildDegraded"].reason) == (
        "False",
        "NoLayeredObjects",
    )
    assert found["Degraded"].status == "False"
