"""What is taken back of a node when the components are gone, and what waits until they run."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api import names
from mco.payload.uninstall import freeing

UPDATE = {"key": names.UPDATE_TAINT, "effect": "PreferNoSchedule"}
THEIRS = {"key": "theirs", "value": "x", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}


def node(desired: str = "", *taints: dict[str, str], cordoned: bool = True) -> dict[str, Any]:
    annotations = {names.DESIRED_DRAIN: desired, names.LAST_APPLIED_DRAIN: desired} if desired else {}
    spec: dict[str, Any] = {"unschedulable": True} if cordoned else {}
    return {
        "metadata": {"name": "n", "resourceVersion": "7", "annotations": annotations},
        "spec": spec | ({"taints": list(taints)} if taints else {}),
    }


@pytest.mark.parametrize(
    ("found", "patch"),
    [
        (node("drain-x"), {"unschedulable": None}),
        (node("drain-x", UPDATE), {"unschedulable": None, "taints": None}),
        # What we do not know of a taint stays with it.
        (node("drain-x", THEIRS, UPDATE), {"unschedulable": None, "taints": [THEIRS]}),
        (node("", UPDATE), {"taints": None}),
        (node("drain-x", cordoned=False), None),
        (node("uncordon-x"), None),
        (node("no-such-verb"), None),
        (node("", THEIRS), None),
        (node(), None),
    ],
)
def test_only_our_own_drain_is_ended(found: dict[str, Any], patch: dict[str, Any] | None) -> None:
    made = freeing(found)
    assert (made or {}).get("spec") == patch
    if made is not None:
        assert made["metadata"]["resourceVersion"] == "7"
        drained_again = {"annotations": {names.LAST_APPLIED_DRAIN: None}}
        assert ("unschedulable" in made["spec"]) == (drained_again.items() <= made["metadata"].items())
