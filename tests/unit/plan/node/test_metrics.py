"""spec/operator.md 5.2: what each of a Node's words becomes."""

from __future__ import annotations

import pytest

from mco.plan.node import metrics
from mco.plan.node.metrics import Told, after
from mco.plan.node.observation import Annotations

DRIFT = "unexpected on-disk state validating against A: content mismatch"


def said(state: str, current: str = "A", desired: str = "A", reason: str = "") -> Annotations:
    return Annotations(state=state, current=current, desired=desired, reason=reason)


def told(*views: Annotations) -> Told:
    """At the seconds 1, 2, ..."""
    found = Told()
    for second, view in enumerate(views, start=1):
        found = after(found, view, float(second))
    return found


@pytest.mark.parametrize(
    ("views", "state", "update", "drifted"),
    [
        ((), {}, {("", ""): 0.0}, 0.0),
        ((said(""),), {}, {("", ""): 0.0}, 0.0),
        ((said("Done"),) * 3, {("Done", ""): 1.0}, {("MachineConfig: A", ""): 1.0}, 0.0),
        ((said("Done", reason="old"),), {("Done", ""): 1.0}, {("MachineConfig: A", ""): 1.0}, 0.0),
        (
            (said("Done"), said("Working", desired="B"), said("Done", "B", "B")),
            {("Done", ""): 3.0},
            {("MachineConfig: B", ""): 3.0},
            0.0,
        ),
        (
            (said("Done"), said("Done", "B", "B")),
            {("Done", ""): 1.0},
            {("MachineConfig: B", ""): 2.0},
            0.0,
        ),
        (
            (said("Working", desired="B"), said("Degraded", desired="B", reason="no room")),
            {("Degraded", "no room"): 2.0},
            {("", "no room"): 2.0},
            0.0,
        ),
        (
            (
                said("Unreconcilable", desired="B", reason="no"),
                said("Unreconcilable", desired="B", reason="nay"),
            ),
            {("Unreconcilable", "nay"): 2.0},
            {("", "nay"): 2.0},
            0.0,
        ),
        (
            (said("Done"), said("Degraded", desired="B", reason=DRIFT)),
            {("Degraded", DRIFT): 2.0},
            {("MachineConfig: A", ""): 1.0},
            2.0,
        ),
        (
            (said("Degraded", reason=DRIFT), said("Degraded", reason=f"{DRIFT}, other"), said("Working")),
            {("Working", ""): 3.0},
            {("", ""): 0.0},
            1.0,
        ),
        (
            (said("Degraded", reason=DRIFT), said("Done")),
            {("Done", ""): 2.0},
            {("MachineConfig: A", ""): 2.0},
            0.0,
        ),
    ],
)
def test_a_node_s_words(
    views: tuple[Annotations, ...],
    state: dict[tuple[str, str], float],
    update: dict[tuple[str, str], float],
    drifted: float,
) -> None:
    found = {family.metric: family.series for family in metrics.families(told(*views), ("debian", "12"), 2)}
    assert found == {
        metrics.HOST: {("DEBIAN", "12"): 1.0},
        metrics.STATE: state,
        metrics.UPDATE: update,
        metrics.DRIFT: {(): drifted},
        metrics.REBOOTS_FAILED: {(): 2.0},
    }
