"""Which pool moves which node, as nodes and pools come, change and go (spec/node.md 3.2)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api.core import Node
from mco.plan.pool.census import Census
from tests.factories import node, pool

POOLS = [pool("worker"), pool("edge"), pool("infra")]


def labels(*roles: str) -> dict[str, str]:
    return {f"node-role.kubernetes.io/{role}": "" for role in roles}


def version(subject: Node, number: int, **metadata: Any) -> Node:
    changed = msgspec.structs.replace(subject.metadata, resource_version=str(number), **metadata)
    return msgspec.structs.replace(subject, metadata=changed)


def taken(census: Census, *nodes: Node, pools: Any = POOLS) -> dict[str, list[str]]:
    census.take(pools, {n.name: n for n in nodes})
    return {p.name: list(census.members(p.name)) for p in POOLS}


def test_nodes_come_in_the_order_of_their_names() -> None:
    census = Census()
    assert taken(census, node("b"), node("a"))["worker"] == ["a", "b"]
    assert taken(census, node("b"), node("a"), node("aa"))["worker"] == ["a", "aa", "b"]


def test_a_node_changes_pools_and_goes() -> None:
    census, moved = Census(), version(node("n"), 2, labels=labels("worker", "edge"))
    assert taken(census, node("n")) == {"worker": ["n"], "edge": [], "infra": []}
    assert taken(census, moved) == {"worker": [], "edge": ["n"], "infra": []}
    assert taken(census) == {"worker": [], "edge": [], "infra": []}


def test_pools_that_select_others_get_others() -> None:
    census, subject = Census(), node("n", labels=labels("worker", "edge"))
    assert taken(census, subject)["edge"] == ["n"]
    assert taken(census, subject, pools=[pool("worker")]) == {"worker": ["n"], "edge": [], "infra": []}


def test_nodes_without_a_pool_say_what_is_wrong_with_them() -> None:
    census = Census()
    taken(census, node("free", labels={}), node("torn", labels=labels("edge", "infra")))
    reasons = {name: text for name, (_, text) in census.unassigned().items()}
    assert reasons == {
        "free": "",
        "torn": "node torn belongs to 2 custom roles, cannot proceed with this Node",
    }
    assert taken(census, version(node("torn"), 2))["worker"] == ["torn"]
    assert census.unassigned() == {}


def test_what_was_written_counts_until_the_cache_is_newer() -> None:
    census, cached = Census(), node("n", "V0")
    taken(census, cached)
    written = version(node("n", "V0", "V1"), 5)
    census.wrote(written)
    taken(census, cached)
    assert census.members("worker")["n"].desired == "V1"
    taken(census, version(cached, 4))
    assert census.members("worker")["n"].desired == "V1"
    taken(census, version(node("n", "V1"), 6))
    assert census.members("worker")["n"].done


def test_an_answer_about_a_node_that_is_gone_does_not_bring_it_back() -> None:
    census, cached = Census(), node("n", "V0")
    taken(census, cached)
    taken(census)
    census.wrote(version(cached, 7))
    assert taken(census)["worker"] == []


def test_a_new_node_of_an_old_name_is_believed_whatever_its_version() -> None:
    census = Census()
    taken(census, version(node("n", "V0"), 9))
    again = msgspec.structs.replace(
        node("n", "V1"), metadata=msgspec.structs.replace(node("n", "V1").metadata, uid="other")
    )
    taken(census, again)
    assert census.members("worker")["n"].desired == "V1"
