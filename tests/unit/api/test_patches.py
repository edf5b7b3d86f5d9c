"""Merge patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.meta import patches

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(original: Any, patch: Any, result: Any) -> None:
    """RFC 7386, appendix A."""
    assert patches.merge(original, patch) == result


@given(values, values)
def test_merging_twice_is_merging_once_and_changes_no_argument(original: Any, patch: Any) -> None:
    before = copy.deepcopy((original, patch))
    once = patches.merge(original, patch)
    assert patches.merge(once, patch) == once
    assert (original, patch) == before


def _pod(*containers: Any) -> dict[str, Any]:
    return {"kind": "Pod", "spec": {"containers": list(containers)}}


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        # by key: change, add, delete, replace; what is new goes in front of what the patch does not name
        (
            _pod({"name": "a", "image": "1"}, {"name": "b", "image": "1"}),
            {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c"}]}},
            _pod({"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c"}),
        ),
        (
            _pod({"name": "a"}, {"name": "b"}),
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
            _pod({"name": "b"}),
        ),
        (
            _pod({"name": "a"}, {"name": "b"}),
            {"spec": {"containers": [{"name": "c"}, {"$patch": "replace"}]}},
            _pod({"name": "c"}),
        ),
        (
            _pod({"name": "a", "env": [{"name": "x", "value": "1"}]}),
            {"spec": {"containers": [{"name": "a", "env": [{"name": "y", "value": "2"}]}]}},
            _pod({"name": "a", "env": [{"name": "y", "value": "2"}, {"name": "x", "value": "1"}]}),
        ),
        # the order that the patch states
        (
            _pod({"name": "a"}, {"name": "b"}),
            {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": []}},
            _pod({"name": "b"}, {"name": "a"}),
        ),
        # lists without a key are replaced
        (
            {"kind": "Node", "spec": {"taints": [{"key": "a"}]}},
            {"spec": {"taints": [{"key": "b"}]}},
            {"kind": "Node", "spec": {"taints": [{"key": "b"}]}},
        ),
        # sets of values grow and shrink
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c", "b"]}},
            {"metadata": {"finalizers": ["c", "a", "b"]}},
        ),
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
        ),
        # objects
        ({"data": {"a": "1", "b": "2"}}, {"data": {"a": None}}, {"data": {"b": "2"}}),
        ({"data": {"a": "1"}}, {"data": {"$patch": "replace", "b": "2"}}, {"data": {"b": "2"}}),
        ({"data": {"a": "1"}}, {"data": {"$patch": "delete"}}, {"data": {}}),
        (
            {"spec": {"strategy": {"a": 1, "b": 2}}},
            {"spec": {"strategy": {"$retainKeys": ["a", "c"], "c": 3}}},
            {"spec": {"strategy": {"a": 1, "c": 3}}},
        ),
        # conditions go by type, but not everywhere
        (
            {"kind": "Node", "status": {"conditions": [{"type": "A", "status": "x"}, {"type": "B"}]}},
            {"status": {"conditions": [{"type": "A", "status": "y"}]}},
            {"kind": "Node", "status": {"conditions": [{"type": "A", "status": "y"}, {"type": "B"}]}},
        ),
        (
            {"kind": "CertificateSigningRequest", "status": {"conditions": [{"type": "A"}]}},
            {"status": {"conditions": [{"type": "B"}]}},
            {"kind": "CertificateSigningRequest", "status": {"conditions": [{"type": "B"}]}},
        ),
        (
            {"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]}},
            {"metadata": {"ownerReferences": [{"uid": "2", "name": "b"}]}},
            {"metadata": {"ownerReferences": [{"uid": "2", "name": "b"}, {"uid": "1", "name": "a"}]}},
        ),
    ],
)
def test_strategic_merge(original: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(original)
    assert patches.strategic(original, patch) == result
    assert original == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"spec": {"containers": [{"image": "1"}]}}, "does not contain declared merge key: name"),
        ({"spec": {"$patch": "wonder"}}, "Unknown patch type found: wonder"),
    ],
)
def test_an_impossible_strategic_patch_is_refused(patch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        patches.strategic(_pod({"name": "a"}), patch)
