"""From bytes to typed objects and events, whatever the bytes are cut into."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.api.resources import MACHINE_CONFIG_POOLS, NODES
from mco.kube.codec import decode_object, decode_page
from mco.kube.errors import DecodeError, Expired
from mco.kube.watch import LineSplitter, decode_event


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_unknown_fields_are_left_out_and_kind_is_filled_in() -> None:
    page = decode_page(
        encoded(
            {
                "metadata": {"resourceVersion": "5", "continue": "next", "remainingItemCount": 3, "new": 1},
                "items": [
                    {"metadata": {"name": "w1", "managedFields": [{}]}, "status": {"images": [1]}, "extra": 1}
                ],
            }
        ),
        NODES,
    )
    assert page.items is not None
    (node,) = page.items
    assert (node.name, node.kind, node.api_version) == ("w1", "Node", "v1")
    assert (page.metadata.continue_, page.metadata.resource_version) == ("next", "5")


def test_an_empty_list_may_be_null() -> None:
    assert decode_page(encoded({"metadata": {}, "items": None}), NODES).items is None


def test_an_odd_object_is_named_with_the_path_of_its_fault() -> None:
    body = encoded({"metadata": {"name": "worker"}, "spec": {"paused": "yes"}})
    with pytest.raises(DecodeError) as caught:
        decode_object(body, MACHINE_CONFIG_POOLS)
    assert caught.value.subject == "MachineConfigPool/worker"
    assert caught.value.key == "worker"
    assert caught.value.path == "$.spec.paused"
    assert "yes" not in str(caught.value)


def test_one_odd_item_does_not_hide_the_others() -> None:
    items = [
        {"metadata": {"name": n}, "spec": {"unschedulable": v}}
        for n, v in (("a", True), ("b", 1), ("c", False))
    ]
    body = encoded({"metadata": {"resourceVersion": "9"}, "items": items})
    rejected: list[DecodeError] = []
    page = decode_page(body, NODES, rejected.append)
    assert [item.name for item in page.items or ()] == ["a", "c"]
    assert page.metadata.resource_version == "9"
    assert [error.key for error in rejected] == ["b"]
    with pytest.raises(DecodeError):
        decode_page(body, NODES)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"items": 1}', b'{"items": [{]}'])
def test_what_is_no_list_is_an_error(body: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_page(body, NODES)


def test_an_error_event_is_raised_as_what_it_is() -> None:
    line = encoded({"type": "ERROR", "object": {"code": 410, "reason": "Gone", "message": "too old"}})
    with pytest.raises(Expired, match="too old"):
        decode_event(line, NODES)


def test_a_bookmark_may_be_full_of_nulls() -> None:
    event = decode_event(
        encoded(
            {
                "type": "BOOKMARK",
                "object": {
                    "kind": "MachineConfigPool",
                    "metadata": {
                        "resourceVersion": "77",
                        "creationTimestamp": None,
                        "annotations": {"k8s.io/initial-events-end": "true"},
                    },
                    "spec": {"configuration": None},
                    "status": None,
                },
            }
        ),
        MACHINE_CONFIG_POOLS,
    )
    assert (event.type, event.resource_version, event.ends_initial_events) == ("BOOKMARK", "77", True)


@pytest.mark.parametrize(
    "line", [b"{}", b"null", b'{"type":"ADDED"}', b"\x00", b'{"type":"ADDED","object":1}']
)
def test_what_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_event(line, NODES)


@given(st.lists(st.binary().map(lambda b: b.replace(b"\n", b"\r"))), st.data())
def test_lines_survive_any_way_of_cutting_the_stream(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == [line for line in lines if line]
    assert not splitter.inside_a_line


@given(st.binary(min_size=1).filter(lambda b: not b.endswith(b"\n")))
def test_a_rest_without_an_end_is_noticed(stream: bytes) -> None:
    splitter = LineSplitter()
    splitter.feed(stream)
    assert splitter.inside_a_line
