"""spec/node.md 3.5 to 3.7, 12.2, 12.3 and 12.4."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.core import Node
from mco.base.errors import InvalidInput
from mco.plan.pool import rollout, waiting
from mco.plan.pool.rollout import Rollout
from tests.factories import node, pool

TAINT = {"key": "UpdateInProgress", "effect": "PreferNoSchedule"}
OTHER_TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 1),
        (2, 2),
        (0, 1),
        ("50%", 2),
        ("60%", 2),
        ("0%", 1),
        ("150%", 6),
        ("0" * 5000 + "50%", 2),
        (-1, -1),
    ],
)
def test_max_unavailable_of_four_nodes(value: int | str | None, expected: int) -> None:
    assert rollout.max_unavailable(pool(maxUnavailable=value), 4) == expected


@pytest.mark.parametrize("value", ["50 percent", "60", "40 %", "a lot", "", "9" * 5000 + "%"])
def test_max_unavailable_that_is_no_percentage(value: str) -> None:
    with pytest.raises(InvalidInput, match="string is not a percentage") as caught:
        rollout.max_unavailable(pool(maxUnavailable=value), 4)
    assert caught.value.path == "$.spec.maxUnavailable"


def test_the_arbiter_moves_one_at_a_time() -> None:
    assert rollout.max_unavailable(pool("arbiter", maxUnavailable="100%"), 5) == 1


def nodes(*rows: Any) -> list[Node]:
    """(current, desired, ready[, state]) as the tables of the specification write a node."""
    return [
        node(f"node-{i}", row[0], row[1], ready=row[2], state=row[3] if len(row) > 3 else "Done")
        for i, row in enumerate(rows)
    ]


def texts(plan: Rollout) -> dict[str, str]:
    return {name: why.text for name, why in plan.waiting.items()}


D, W = "Degraded", "Working"
NINE = [
    ("V1", "V1", True),
    ("V1", "V1", False),
    ("V0", "V1", True, W),
    ("V0", "V0", True),
    ("V0", "V0", True),
    ("V0", "V0", True),
    ("V0", "V0", True),
    ("V1", "V1", True),
    ("V1", "V1", True),
]


@pytest.mark.parametrize(
    ("limit", "rows", "expected"),
    [
        (1, [("V1", "V1", True)] * 3, []),
        (1, [("V1", "V1", True), ("V0", "V0", True), ("V1", "V1", False)], []),
        (1, [("V1", "V1", True), ("V1", "V1", False), ("V0", "V1", True)], []),
        (2, [("V0", "V0", False), ("V0", "V0", True), ("V0", "V0", True)], ["node-1"]),
        (
            3,
            [
                ("V1", "V1", True),
                ("V1", "V1", False),
                ("V0", "V1", True, W),
                ("V0", "V0", True),
                ("V0", "V0", True),
            ],
            ["node-3"],
        ),
        (1, [("V1", "V1", True), ("V0", "V1", True, W), ("V0", "V0", True)], []),
        (1, [("V1", "V1", True), ("V0.1", "V0.2", True, D), ("V0", "V0", True)], ["node-1"]),
        (1, [("V1", "V1", True), ("V1", "V1", True, D), ("V0", "V0", True)], []),
        (1, [("V1", "V1", True), ("V1", "V1", True), ("V1", "V2", True, D)], ["node-2"]),
        (1, [("V1", "V1", True), ("V1", "V2", True)], []),
        (4, NINE, ["node-3", "node-4"]),
    ],
)
def test_candidates(limit: int, rows: list[Any], expected: list[str]) -> None:
    plan = rollout.plan(pool(maxUnavailable=limit), nodes(*rows))
    assert [n.name for n in plan.targets] == expected


def test_every_node_that_has_to_wait_says_why() -> None:
    plan = rollout.plan(pool(maxUnavailable=4), nodes(*NINE))
    assert texts(plan) == {
        "node-5": "maxUnavailable is 4; others go first: node-3, node-4",
        "node-6": "maxUnavailable is 4; others go first: node-3, node-4",
    }
    plan = rollout.plan(pool(), nodes(("V0", "V0", False), ("V0", "V0", True)))
    assert texts(plan) == {
        "node-0": "it is not ready: node node-0 is reporting NotReady=False",
        "node-1": "maxUnavailable is 1; unavailable: node-0",
    }
    plan = rollout.plan(pool(paused=True), nodes(("V0", "V0", True)))
    assert (plan.targets, texts(plan)) == ((), {"node-0": "its pool is paused"})


def test_nodes_that_fail_on_the_target_use_up_capacity() -> None:
    plan = rollout.plan(pool(), nodes(("V0", "V1", True, D), ("V0", "V0", True)))
    assert plan.targets == ()
    assert texts(plan) == {"node-1": "maxUnavailable is 1; failed on this config: node-0"}


def test_a_withdrawn_config_reaches_broken_nodes_at_no_cost() -> None:
    """node-0 failed on V2 and still is at V1, which the pool wants again; node-1 may move beside it."""
    plan = rollout.plan(pool(), nodes(("V1", "V2", True, D), ("V0", "V0", True), ("V1", "V1", True)))
    assert [n.name for n in plan.targets] == ["node-0", "node-1"]


def test_beyond_capacity_zones_go_in_order_and_the_oldest_first() -> None:
    def at(name: str, zone: str | None, created: str) -> Node:
        zones = {"topology.kubernetes.io/zone": zone} if zone else {}
        return node(name, "V0", labels=zones, created=created)

    members = [
        at("none-old", None, "2020-01-01T00:00:00Z"),
        at("none-newest", None, "2020-01-03T00:00:00Z"),
        at("none-newer", None, "2020-01-02T00:00:00Z"),
        at("zzz-newest", "ZZZ", "2020-01-03T00:00:00Z"),
        at("zzz-old", "ZZZ", "2020-01-01T00:00:00Z"),
        at("zzz-newer", "ZZZ", "2020-01-02T00:00:00Z"),
        at("rrr-new", "RRR", "2020-01-02T00:00:00Z"),
        at("rrr-old", "RRR", "2020-01-01T00:00:00Z"),
        at("qqq", "QQQ", "2020-01-04T00:00:00Z"),
    ]
    order = ["qqq", "rrr-old", "rrr-new", "zzz-old", "zzz-newer", "zzz-newest", "none-old", "none-newer"]
    plan = rollout.plan(pool(maxUnavailable=8), members)
    assert [n.name for n in plan.targets] == order


def test_taints_mark_waiting_nodes_and_go_when_a_node_is_targeted() -> None:
    members = [
        node("done", "V1", taints=[TAINT, OTHER_TAINT]),
        node("targeted", "V0", taints=[TAINT]),
        node("waits", "V0"),
        node("waits-marked", "V0", taints=[TAINT]),
        node("clean", "V1"),
    ]
    plan = rollout.plan(pool(), members)
    assert [n.name for n in plan.targets] == ["targeted"]
    assert {c.node.name: c.taint for c in plan.changes} == {"targeted": False, "waits": True, "done": False}


@pytest.mark.parametrize("annotations", [{}, {"unrelated": "x"}])
def test_a_node_without_annotations_is_a_candidate_but_unavailable(annotations: dict[str, str]) -> None:
    """It has not reported yet: whatever it is, it takes the place of one that is away."""
    fresh = node("fresh", None, annotations=annotations)
    assert rollout.plan(pool(maxUnavailable=2), [fresh]).targets == (fresh,)
    assert rollout.plan(pool(maxUnavailable=1), [fresh]).targets == ()


def test_nodes_learn_the_topology_of_the_control_plane_once() -> None:
    knows = node(
        "b", "V1", annotations={"machineconfiguration.openshift.io/controlPlaneTopology": "External"}
    )
    plan = rollout.plan(pool(), [node("a", "V1"), knows], "External")
    assert [(c.node.name, c.topology, c.target) for c in plan.changes] == [("a", "External", False)]
    assert rollout.plan(pool(paused=True), [node("a", "V1")], "External").changes == ()


def test_a_sentence_names_ten_nodes_and_counts_the_others() -> None:
    members = [node(f"w{number:03}", "V0") for number in range(100)]
    reason = rollout.plan(pool(maxUnavailable="50%"), members).waiting["w099"].text
    first = ", ".join(f"w{number:03}" for number in range(10))
    assert reason == f"maxUnavailable is 50; others go first: {first} and 40 more"


@pytest.mark.parametrize("mcd", ["Done", "Working"])
def test_a_node_that_leaves_its_image_is_on_its_way(mcd: str) -> None:
    """spec/node.md 12.3: only currentImage is left."""
    image = {"machineconfiguration.openshift.io/currentImage": "i"}
    members = [node("node-0", "V1", state=mcd, annotations=image), node("node-1", "V0")]
    plan = rollout.plan(pool(), members)
    assert (plan.targets, plan.waiting["node-1"].reason) == ((), "MaxUnavailable")


def test_a_node_that_still_has_to_drop_an_image_is_told_again() -> None:
    images = {f"machineconfiguration.openshift.io/{key}Image": "i" for key in ("current", "desired")}
    plan = rollout.plan(pool(), [node("a", "V1", annotations=images)])
    assert [(c.node.name, c.target, c.taint) for c in plan.changes] == [("a", True, None)]


@pytest.mark.parametrize(
    ("rows", "reason", "lasting"),
    [
        ([("V0", "V1", True, W)], "MaxUnavailable", "maxUnavailable is 1; others go first"),
        ([("V0", "V1", False, W)], "MaxUnavailable", "maxUnavailable is 1; others go first"),
        ([("V0", "V1", True, D)], "PoolBlocked", "maxUnavailable is 1; failed on this config: node-0"),
        ([("V1", "V1", True, D)], "PoolBlocked", "maxUnavailable is 1; unavailable: node-0"),
        ([("V1", "V1", False)], "PoolBlocked", "maxUnavailable is 1; unavailable: node-0"),
        ([("V0", "V0", False)], "PoolBlocked", "maxUnavailable is 1; unavailable: node-0"),
    ],
)
def test_what_lasts_names_nodes_only_when_nothing_moves(rows: list[Any], reason: str, lasting: str) -> None:
    why = rollout.plan(pool(), [*nodes(*rows), node("waits", "V0")]).waiting["waits"]
    assert (why.reason, why.lasting) == (reason, lasting)


def test_a_deferred_node_waits_as_long_as_others_can_go() -> None:
    three, two = nodes(*[("V0", "V0", True)] * 3), nodes(("V0", "V0", True), ("V1", "V1", True))
    plan = rollout.plan(pool("master", maxUnavailable=3), three, deferred="node-0")
    assert [n.name for n in plan.targets] == ["node-1", "node-2"]
    assert plan.waiting["node-0"].text == (
        "the machine config operator runs on it; others go first: node-1, node-2"
    )
    alone = rollout.plan(pool("master", maxUnavailable=3), two, deferred="node-0")
    assert [n.name for n in alone.targets] == ["node-0"]


def test_nobody_moves_while_the_pool_is_halted_but_taints_are_kept_right() -> None:
    why = waiting.control_plane("arbiter", ["a0"])
    members = [node("m0", "V0"), node("m1", "V0", "V2", state="Degraded"), node("m2", "V1", taints=[TAINT])]
    plan = rollout.plan(pool("master"), members, halted=why)
    assert (plan.targets, plan.candidates) == ((), ())
    assert dict(plan.waiting) == {"m0": why, "m1": why}
    assert {c.node.name: c.taint for c in plan.changes} == {"m0": True, "m1": True, "m2": False}


@pytest.mark.parametrize(("limit", "candidates"), [(2, ["node-0", "node-1", "node-2"]), (-1, [])])
def test_candidates_are_all_that_capacity_allows_for(limit: int, candidates: list[str]) -> None:
    plan = rollout.plan(pool(maxUnavailable=limit), nodes(*[("V0", "V0", True)] * 3))
    assert list(plan.candidates) == candidates
