"""spec/node.md 3.2 and 12.1."""

from __future__ import annotations

import pytest

from mco.base.errors import InvalidInput
from mco.plan.pool.membership import Membership, Memberships
from tests.factories import node, pool

POOLS = [pool("master"), pool("worker"), pool("infra"), pool("infra2"), pool("arbiter")]


def roles(*names: str) -> dict[str, str]:
    return {f"node-role.kubernetes.io/{name}": "" for name in names}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (roles("master"), ("master",)),
        (roles("worker"), ("worker",)),
        (roles(), ()),
        (roles("master", "worker"), ("master",)),
        (roles("worker", "infra"), ("infra", "worker")),
        (roles("infra"), ("infra",)),
        (roles("master", "infra"), ("master",)),
        (roles("master", "infra", "worker"), ("master", "worker")),
        (roles("arbiter", "worker"), ("arbiter", "worker")),
        (roles("master", "worker") | {"kubernetes.io/os": "windows"}, ()),
    ],
)
def test_pools_of_a_node(labels: dict[str, str], expected: tuple[str, ...]) -> None:
    """The first pool moves the node; a custom pool wins over worker, master over everything."""
    membership = Membership(POOLS)
    assert membership.pools(node("n", labels=labels)) == expected
    assert membership.primary(node("n", labels=labels)) == (expected[0] if expected else None)


@pytest.mark.parametrize("extra", [(), ("master",), ("worker",)])
def test_two_custom_pools_are_an_error_that_names_the_labels(extra: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Membership(POOLS).pools(node("n", labels=roles("infra", "infra2", *extra)))
    assert str(caught.value) == "node n belongs to 2 custom roles, cannot proceed with this Node"
    assert "infra, infra2" in caught.value.hint


def test_a_pool_without_a_node_selector_has_no_nodes() -> None:
    pools = [pool("none", nodeSelector=None), pool("all", nodeSelector={}), pool("worker")]
    assert Membership(pools).pools(node("n")) == ("worker",)


def test_an_unusable_selector_spoils_every_question() -> None:
    """Nobody can tell whether the broken pool would have had the node."""
    bad = pool("bad", nodeSelector={"matchExpressions": [{"key": "a", "operator": "Maybe"}]})
    with pytest.raises(InvalidInput, match="not a valid label selector operator") as caught:
        Membership([pool("worker"), bad]).pools(node("n"))
    assert (caught.value.subject, caught.value.path) == ("MachineConfigPool/bad", "$.spec.nodeSelector")


def test_members_leave_out_nodes_of_two_custom_pools() -> None:
    nodes = [
        node("c", labels=roles("infra", "worker")),
        node("b", labels=roles("infra", "infra2")),
        node("a", labels=roles("worker")),
        node("w", labels=roles("worker") | {"kubernetes.io/os": "windows"}),
    ]
    members = Membership(POOLS).members(nodes)
    assert {name: [n.name for n in of] for name, of in members.items() if of} == {
        "infra": ["c"],
        "worker": ["a"],
    }


def test_selectors_are_compiled_again_only_when_one_changed() -> None:
    memberships = Memberships()
    first = memberships.by([pool("worker"), pool("infra")])
    assert memberships.by([pool("worker", "V2"), pool("infra", paused=True)]) is first
    assert memberships.by([pool("worker")]) is not first
    other = memberships.by([pool("worker", nodeSelector={"matchLabels": {"a": "b"}})])
    assert other.pools(node("n", labels={"a": "b"})) == ("worker",)
