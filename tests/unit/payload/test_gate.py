"""The gate on a ClusterOperator (spec/operator.md 6.4, cases in 8.14)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.payload.gate import Closed, Effect, closed, condensed, slow_after


def operator(name: str = "co", versions: dict[str, str] | None = None, **conditions: Any) -> dict[str, Any]:
    listed = [{"name": operand, "version": version} for operand, version in (versions or {}).items()]
    found = [{"type": type_, "status": status} for type_, status in conditions.items()]
    return {"metadata": {"name": name}, "status": {"versions": listed, "conditions": found}}


WANTED = operator(versions={"operator": "v2", "operand": "v2"})
READY: dict[str, Any] = {"Available": "True", "Degraded": "False"}


@pytest.mark.parametrize(
    ("found", "initializing", "reason", "effect"),
    [
        (operator(versions={"operator": "v2", "operand": "v2"}, **READY), False, "", None),
        (
            operator(versions={"operator": "v2", "operand": "v2"}, **READY, Progressing="True"),
            False,
            "",
            None,
        ),
        (operator(**READY), False, "ClusterOperatorUpdating", Effect.NONE),
        (operator(versions={"operator": "v2"}, **READY), False, "ClusterOperatorUpdating", Effect.NONE),
        (
            operator(versions={"operator": "v1", "operand": "v1"}, **READY),
            False,
            "ClusterOperatorUpdating",
            Effect.NONE,
        ),
        (
            operator(versions={"operator": "v2", "operand": "v1"}, **READY),
            False,
            "ClusterOperatorUpdating",
            Effect.NONE,
        ),
        (operator(versions={"operator": "v1"}, **READY), True, "", None),
        (operator(), False, "ClusterOperatorNotAvailable", Effect.FAIL),
        (operator(Progressing="True"), False, "ClusterOperatorNotAvailable", Effect.FAIL),
        (operator(Available="False"), False, "ClusterOperatorNotAvailable", Effect.FAIL),
        (operator(Available="True"), False, "ClusterOperatorDegraded", Effect.FAIL_AFTER_INTERVAL),
        (
            operator(Available="True", Degraded="True"),
            False,
            "ClusterOperatorDegraded",
            Effect.FAIL_AFTER_INTERVAL,
        ),
        (operator(Available="True", Degraded="True"), True, "ClusterOperatorDegraded", Effect.REPORT),
    ],
)
def test_the_gate(found: dict[str, Any], initializing: bool, reason: str, effect: Effect | None) -> None:
    gate = closed(WANTED, found, initializing=initializing)
    if not reason:
        assert gate is None
        return
    assert gate is not None
    assert (gate.reason, gate.effect) == (reason, effect)


def test_a_manifest_without_versions_is_a_mistake() -> None:
    gate = closed(operator(), operator(**READY), initializing=False)
    assert gate is not None and (gate.reason, gate.effect) == ("ClusterOperatorNoVersions", Effect.FAIL)


def test_one_sentence_for_one_reason() -> None:
    def gate(name: str, found: dict[str, Any]) -> Closed:
        made = closed(operator(name, {"operator": "v2"}), found, initializing=False)
        assert made is not None
        return made

    updating = [gate(name, operator(versions={"operator": "v1"}, **READY)) for name in ("b", "a")]
    away = gate("c", operator())
    assert [(g.reason, g.message) for g in condensed([*updating, away])] == [
        ("ClusterOperatorNotAvailable", "Cluster operator c is not available"),
        ("ClusterOperatorsUpdating", "Cluster operators a, b are updating versions"),
    ]


def test_the_worst_effect_is_kept() -> None:
    gates = [Closed("a", Effect.REPORT, "ClusterOperatorDegraded", "Cluster operator a is degraded")]
    gates.append(
        Closed("b", Effect.FAIL_AFTER_INTERVAL, "ClusterOperatorDegraded", "Cluster operator b is degraded")
    )
    assert condensed(gates)[0].effect is Effect.FAIL_AFTER_INTERVAL


def test_machine_config_is_waited_for_longer() -> None:
    assert (slow_after("dns"), slow_after("machine-config")) == (1800, 5400)
