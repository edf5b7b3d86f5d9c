"""The store finds objects by key and by index, and shares what they have in common."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.core import Node
from mco.api.meta.objects import ObjectMeta
from mco.kube.store import Store, share_parts


def node(name: str, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def roles(obj: Node) -> list[str]:
    return sorted((obj.metadata.labels or {}).values())


def test_it_reads_like_a_mapping() -> None:
    store: Store[Node] = Store()
    assert store.put(node("a")) is None
    old = store.put(node("a", x="y"))
    assert old == node("a")
    assert (len(store), list(store), "a" in store, "b" in store) == (1, ["a"], True, False)
    assert store.get("a") == node("a", x="y")
    assert store.get("b") is None
    assert list(store.values()) == [node("a", x="y")]
    assert store.pop("a") == node("a", x="y")
    assert store.pop("a") is None


def test_an_unknown_index_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        Store[Node]().index("nope", "x")


_labels = st.dictionaries(st.sampled_from("pq"), st.sampled_from("xyz"))
_steps = st.lists(st.tuples(st.sampled_from("abc"), st.none() | _labels), max_size=30)


@given(_steps, st.integers(0, 30))
def test_an_index_always_equals_a_search(steps: list[tuple[str, dict[str, str] | None]], when: int) -> None:
    """Also when the index is added after the objects."""
    store: Store[Node] = Store()
    for number, (name, labels) in enumerate(steps):
        if number == when:
            store.add_indexer("role", roles)
        if labels is None:
            store.pop(name)
        else:
            store.put(node(name, **labels))
    if len(steps) <= when:
        store.add_indexer("role", roles)
    for value in "xyz":
        found = {obj.name for obj in store.index("role", value)}
        assert found == {obj.name for obj in store.values() if value in roles(obj)}


def decoded(document: dict[str, Any]) -> Node:
    return msgspec.json.decode(msgspec.json.encode(document), type=Node)


def test_equal_strings_of_different_objects_become_one() -> None:
    def make(name: str) -> Node:
        document = {
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/os": "linux-like"},
                "annotations": {"a/b": "rendered-x"},
            },
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
        }
        return decoded(document)

    one, two = make("a"), make("b")
    assert one.metadata.annotation("a/b") is not two.metadata.annotation("a/b")
    before = msgspec.json.encode([one, two])
    share_parts(one)
    share_parts(two)
    assert msgspec.json.encode([one, two]) == before
    assert one.metadata.annotation("a/b") is two.metadata.annotation("a/b")
    assert one.metadata.label("kubernetes.io/os") is two.metadata.label("kubernetes.io/os")
    assert one.status.conditions[0].reason is two.status.conditions[0].reason


def test_an_update_takes_over_what_did_not_change() -> None:
    def make(zone: str) -> Node:
        conditions = [{"type": "Ready", "status": "True", "message": "x" * 1000}]
        labels = {"zone": zone}
        return decoded(
            {
                "metadata": {"name": "a", "labels": labels, "annotations": {"a": "b"}},
                "status": {"conditions": conditions},
            }
        )

    old, new = make("north"), make("south")
    share_parts(new, old)
    assert new == make("south")
    assert new.status is old.status
    assert new.metadata.annotations is old.metadata.annotations
    assert new.metadata.labels == {"zone": "south"}
    assert old.metadata.labels == {"zone": "north"}


@given(_labels, _labels, st.booleans(), st.booleans())
def test_sharing_never_changes_a_value(
    before: dict[str, str], after: dict[str, str], tainted: bool, cordoned: bool
) -> None:
    def make(labels: dict[str, str], flag: bool) -> Node:
        spec = {"unschedulable": flag, "taints": [{"key": "a", "effect": "NoSchedule"}] if tainted else None}
        return decoded({"metadata": {"name": "a", "labels": labels}, "spec": spec})

    old, new = make(before, not cordoned), make(after, cordoned)
    share_parts(new, old)
    assert new == make(after, cordoned)
    assert old == make(before, not cordoned)
