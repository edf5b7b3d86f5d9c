"""spec/node.md 3.3: masters and the Scheduler object."""

from __future__ import annotations

from typing import Any

import pytest

from mco.plan.pool import masters
from tests.factories import node

MASTER, CONTROL_PLANE = masters.MASTER_ROLE, masters.CONTROL_PLANE_ROLE
WORKER = masters.WORKER_ROLE
OTHER = {"key": "dedicated", "effect": "NoSchedule"}


def taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect}


@pytest.mark.parametrize(
    ("labels", "taints", "schedulable", "changed", "left"),
    [
        ([MASTER], [], False, {CONTROL_PLANE: ""}, [taint(MASTER)]),
        ([MASTER], [], True, {CONTROL_PLANE: "", WORKER: ""}, None),
        ([MASTER, CONTROL_PLANE], [taint(MASTER)], False, None, None),
        ([MASTER, CONTROL_PLANE, WORKER], [], True, None, None),
        ([MASTER, CONTROL_PLANE, WORKER], [], False, {WORKER: None}, [taint(MASTER)]),
        (
            [MASTER, CONTROL_PLANE],
            [taint(MASTER), OTHER, taint(CONTROL_PLANE)],
            True,
            {WORKER: ""},
            [OTHER],
        ),
        (
            [MASTER, CONTROL_PLANE],
            [{**OTHER, "timeAdded": "2026-01-02T03:04:05Z", "later": {"than": "this"}}],
            False,
            {},
            "both",
        ),
        ([MASTER, CONTROL_PLANE, WORKER], [taint(MASTER, "NoExecute")], True, None, None),
        ([MASTER, CONTROL_PLANE, WORKER], [taint(MASTER)], True, {}, []),
        ([MASTER, CONTROL_PLANE], [taint(MASTER, "NoExecute")], False, {}, "both"),
    ],
)
def test_labels_and_taints(
    labels: list[str], taints: list[Any], schedulable: bool, changed: dict[str, Any] | None, left: Any
) -> None:
    subject = node("m", "V0", labels=dict.fromkeys(labels, ""), taints=taints)
    patch = masters.patch(subject, schedulable)
    if changed is None:
        assert patch is None
        return
    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "1", "labels": changed}
    if left == "both":
        left = [*taints, taint(MASTER)]
    assert patch.get("spec", {}).get("taints") == (left or None)
    assert ("spec" in patch) is (left is not None)


def test_only_the_role_label_makes_a_master() -> None:
    assert masters.is_master(node("m", labels={MASTER: ""}))
    assert not masters.is_master(node("m", labels={CONTROL_PLANE: ""}))
