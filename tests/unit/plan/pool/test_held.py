"""Nodes that the operator holds wait, cost no capacity and stop nobody (spec/operator.md 0.1, d)."""

from __future__ import annotations

from mco.plan.pool import rollout, waiting
from tests.factories import node, pool

WHY = waiting.held("its machine config daemon, daemon-x, is of another version")
TARGET = pool(maxUnavailable=1)


def test_a_held_node_is_passed_over() -> None:
    plan = rollout.plan(TARGET, [node("a", "V0"), node("b", "V0")], held={"a": WHY})
    assert [target.name for target in plan.targets] == ["b"]
    assert plan.waiting == {"a": WHY}
    assert plan.candidates == ("b",)


def test_a_node_of_another_pool_is_nothing_to_this_one() -> None:
    plan = rollout.plan(TARGET, [node("a", "V0")], held={"z": WHY})
    assert [target.name for target in plan.targets] == ["a"]


def test_a_held_node_still_goes_back_to_where_it_is() -> None:
    """Nothing changes on it, and its pool is whole again: the fix is never held."""
    failed = node("a", "V1", "V2", state="Degraded")
    plan = rollout.plan(TARGET, [failed, node("b", "V1")], held={"a": WHY})
    assert [target.name for target in plan.targets] == ["a"]


def test_a_node_that_is_not_ready_says_that_first() -> None:
    plan = rollout.plan(TARGET, [node("a", "V0", ready=False)], held={"a": WHY})
    assert plan.waiting["a"].reason == "NodeNotReady"


def test_a_held_node_that_is_there_does_not_wait() -> None:
    assert rollout.plan(TARGET, [node("a", "V1")], held={"a": WHY}).waiting == {}
