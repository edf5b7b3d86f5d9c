"""The three kinds of patch, and the one that is not served."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.apiserver.definitions import define, definition
from tests.contract.apiserver.endpoint import JSON_PATCH, MERGE, STRATEGIC, Api, Body, Endpoint


@pytest.fixture
async def node(api: Api, prefix: str) -> str:
    body: Body = {
        "metadata": {"name": prefix, "labels": {"keep": "1"}},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}],
            "addresses": [{"type": "Hostname", "address": "h"}],
        },
    }
    await api.create("/api/v1/nodes", body)
    return f"/api/v1/nodes/{prefix}"


async def test_merge_replaces_lists_and_removes_nulls(api: Api, node: str) -> None:
    patch = {"metadata": {"labels": {"keep": None, "new": "2"}}, "spec": {"taints": None}}
    reply = await api.patch(node, patch, MERGE)
    assert reply.body["metadata"]["labels"] == {"new": "2"}
    assert reply.body.get("spec", {}) == {}


async def test_json_patch_edits_by_path(api: Api, node: str) -> None:
    patch = [
        {"op": "test", "path": "/metadata/labels/keep", "value": "1"},
        {"op": "add", "path": "/metadata/labels/a~1b", "value": "c"},
        {"op": "replace", "path": "/spec/taints/0/effect", "value": "NoExecute"},
    ]
    reply = await api.patch(node, patch, JSON_PATCH)
    assert reply.body["metadata"]["labels"] == {"keep": "1", "a/b": "c"}
    assert reply.body["spec"]["taints"] == [{"key": "a", "effect": "NoExecute"}]


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "test", "path": "/metadata/labels/keep", "value": "2"}],
        [{"op": "remove", "path": "/metadata/labels/missing"}],
        [{"op": "replace", "path": "/spec/taints/7/key", "value": "x"}],
    ],
)
async def test_a_json_patch_that_does_not_fit_changes_nothing(api: Api, node: str, patch: Any) -> None:
    before = (await api.get(node)).body
    reply = await api.patch(node, patch, JSON_PATCH)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert (await api.get(node)).body == before


async def test_a_json_patch_that_copies_copies_is_stopped(api: Api, node: str) -> None:
    patch = [
        {"op": "copy", "from": "/metadata", "path": f"/metadata/annotations{number}"} for number in range(40)
    ]
    reply = await api.patch(node, patch, JSON_PATCH)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")


async def test_a_json_patch_has_so_many_operations(api: Api, node: str) -> None:
    test = {"op": "test", "path": "/metadata/labels/keep", "value": "1"}
    reply = await api.patch(node, [test] * 10_001, JSON_PATCH)
    assert (reply.status, reply.body["reason"]) == (413, "RequestEntityTooLarge")
    assert reply.body["message"].endswith(
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


async def test_an_object_is_not_deeper_than_everybody_can_read(embedded: Endpoint, prefix: str) -> None:
    deep: Body = {}
    for _ in range(250):
        deep = {"a": deep}
    async with embedded.api() as api:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        path = await define(api, definition(prefix, anything))
        reply = await api.post(path, {"metadata": {"name": "a"}, "spec": deep})
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    assert reply.body["message"] == "the object has more than 200 levels of lists and maps"


@pytest.mark.parametrize(("kind", "patch"), [(JSON_PATCH, {}), (MERGE, []), (MERGE, b"{"), (STRATEGIC, [])])
async def test_a_malformed_patch_is_refused(api: Api, node: str, kind: str, patch: Any) -> None:
    reply = await api.patch(node, patch, kind)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


async def test_strategic_merge_goes_by_key_where_there_is_one(api: Api, node: str) -> None:
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    reply = await api.patch(f"{node}/status", patch, STRATEGIC)
    assert [(c["type"], c["status"]) for c in reply.body["status"]["conditions"]] == [
        ("Ready", "False"),
        ("DiskPressure", "False"),
    ]


async def test_strategic_merge_replaces_taints_whole(api: Api, node: str) -> None:
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}}
    reply = await api.patch(node, patch, STRATEGIC)
    assert reply.body["spec"]["taints"] == [{"key": "b", "effect": "NoExecute"}]


async def test_strategic_merge_deletes_by_directive(api: Api, node: str) -> None:
    patch = {"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}}
    reply = await api.patch(f"{node}/status", patch, STRATEGIC)
    assert [c["type"] for c in reply.body["status"]["conditions"]] == ["DiskPressure"]


async def test_a_patch_carries_a_version_when_it_must_not_be_late(api: Api, node: str) -> None:
    stale = (await api.get(node)).body["metadata"]["resourceVersion"]
    await api.patch(node, {"metadata": {"labels": {"x": "1"}}})
    reply = await api.patch(node, {"metadata": {"resourceVersion": stale, "labels": {"x": "2"}}})
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")


async def test_an_invalid_result_is_refused(api: Api, node: str) -> None:
    reply = await api.patch(node, {"metadata": {"labels": {"x": "not a value"}}})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")


async def test_a_patch_of_what_is_not_there_is_not_found(api: Api) -> None:
    assert (await api.patch("/api/v1/nodes/missing", {})).status == 404


@pytest.mark.only("embedded")
async def test_server_side_apply_is_not_served(api: Api, node: str) -> None:
    """A difference to the real server: our own writers use merge patches."""
    reply = await api.patch(node, b"{}", "application/apply-patch+yaml", fieldManager="t", force="true")
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in reply.message
