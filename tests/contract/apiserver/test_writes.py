"""Conditions on writes, and what asks for something that is not."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import JSON_PATCH, MERGE, STRATEGIC, Api, Body


@pytest.fixture
def maps(namespace: str) -> str:
    return f"{namespace}/configmaps"


async def test_a_created_object_has_no_version_yet(api: Api, maps: str) -> None:
    reply = await api.post(maps, {"metadata": {"name": "a", "resourceVersion": "5"}})
    assert reply.status == 500
    assert reply.message == "resourceVersion should not be set on objects to be created"


async def test_what_only_the_server_says_is_overwritten(api: Api, maps: str) -> None:
    forged = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    metadata = (await api.create(maps, {"metadata": {"name": "a", **forged}}))["metadata"]
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")


async def test_an_update_may_name_the_object_that_it_means(api: Api, maps: str) -> None:
    created = await api.create(maps, {"metadata": {"name": "a"}})
    other: Body = {
        "metadata": {"name": "a", "uid": "11111111-1111-1111-1111-111111111111"},
        "data": {"k": "v"},
    }
    put = await api.put(f"{maps}/a", other)
    assert (put.status, put.body["reason"]) == (409, "Conflict")
    assert f"Precondition failed: UID in precondition: {other['metadata']['uid']}, UID in" in put.message
    patched = await api.patch(f"{maps}/a", other, MERGE)
    assert (patched.status, patched.body["reason"]) == (422, "Invalid")
    assert "metadata.uid: Invalid value" in patched.message
    assert (await api.get(f"{maps}/a")).body == created


async def test_a_long_prefix_leaves_room_for_the_made_part(api: Api, maps: str) -> None:
    created = await api.create(maps, {"metadata": {"generateName": "x" * 80}})
    name = created["metadata"]["name"]
    assert (len(name), name[:58]) == (63, "x" * 58)
    assert created["metadata"]["generateName"] == "x" * 80


async def test_a_name_goes_before_a_prefix(api: Api, maps: str) -> None:
    created = await api.create(maps, {"metadata": {"name": "a", "generateName": "b-"}})
    assert created["metadata"]["name"] == "a"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"dryRun": "Some"}, "dryRun"),
        ({"fieldValidation": "Loose"}, "fieldValidation"),
        ({"fieldManager": "x" * 129}, "fieldManager"),
    ],
)
async def test_options_that_nobody_knows_are_refused(
    api: Api, maps: str, query: dict[str, str], field: str
) -> None:
    body: Body = {"metadata": {"name": "a"}}
    await api.create(maps, body)
    for reply in (
        await api.post(maps, {"metadata": {"name": "b"}}, **query),
        await api.put(f"{maps}/a", body, **query),
        await api.patch(f"{maps}/a", {}, **query),
    ):
        assert (reply.status, reply.body["reason"]) == (422, "Invalid")
        assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


@pytest.mark.parametrize(
    "options",
    [
        {"propagationPolicy": "Sometimes"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"dryRun": ["Some"]},
    ],
)
async def test_options_of_a_deletion_are_checked(api: Api, maps: str, options: Body) -> None:
    await api.create(maps, {"metadata": {"name": "a"}})
    reply = await api.delete(f"{maps}/a", options)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert (await api.get(f"{maps}/a")).status == 200


async def test_options_of_a_deletion_may_stand_in_the_address(api: Api, maps: str) -> None:
    await api.create(maps, {"metadata": {"name": "a"}})
    reply = await api.delete(f"{maps}/a", propagationPolicy="Foreground")
    assert reply.status == 200
    assert (await api.get(f"{maps}/a")).status in (200, 404)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}', 'duplicate field "data.k"'),
        (b'{"metadata":{"name":"a","colour":"red"}}', 'unknown field "metadata.colour"'),
        (b'{"metadata":{"name":"a"},"x":1,"y":2}', 'unknown field "x", unknown field "y"'),
    ],
)
async def test_strict_bodies(api: Api, maps: str, body: bytes, text: str) -> None:
    reply = await api.post(maps, body, fieldValidation="Strict")
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    assert f"strict decoding error: {text}" in reply.message
    assert (await api.get(f"{maps}/a")).status == 404
    assert (await api.post(maps, body, fieldValidation="Warn")).status == 201


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"colour": "red"}),
        (STRATEGIC, {"colour": "red"}),
        (JSON_PATCH, [{"op": "add", "path": "/colour", "value": "red"}]),
    ],
)
async def test_strict_patches(api: Api, maps: str, kind: str, patch: object) -> None:
    created = await api.create(maps, {"metadata": {"name": "a"}})
    reply = await api.patch(f"{maps}/a", patch, kind, fieldValidation="Strict")
    assert reply.status in (400, 422)
    assert 'unknown field "colour"' in reply.message
    assert (await api.get(f"{maps}/a")).body == created


async def test_json_patch_moves_copies_and_appends(api: Api, maps: str) -> None:
    await api.create(
        maps, {"metadata": {"name": "a", "finalizers": ["e.com/x"]}, "data": {"a": "1", "b": "2"}}
    )
    patch = [
        {"op": "move", "from": "/data/a", "path": "/data/c"},
        {"op": "copy", "from": "/data/b", "path": "/data/d"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "e.com/y"},
    ]
    body = (await api.patch(f"{maps}/a", patch, JSON_PATCH)).body
    assert body["data"] == {"b": "2", "c": "1", "d": "2"}
    assert body["metadata"]["finalizers"] == ["e.com/x", "e.com/y"]


async def test_strategic_merge_of_finalizers_adds_and_takes(api: Api, maps: str) -> None:
    await api.create(maps, {"metadata": {"name": "a", "finalizers": ["e.com/x", "e.com/z"]}})
    added: Body = {"metadata": {"finalizers": ["e.com/y", "e.com/z"]}}
    body = (await api.patch(f"{maps}/a", added, STRATEGIC)).body
    assert body["metadata"]["finalizers"] == ["e.com/y", "e.com/x", "e.com/z"]
    taken: Body = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["e.com/x"]}}
    body = (await api.patch(f"{maps}/a", taken, STRATEGIC)).body
    assert body["metadata"]["finalizers"] == ["e.com/y", "e.com/z"]


async def test_strategic_merge_puts_new_items_in_front(api: Api, prefix: str) -> None:
    conditions = [{"type": kind, "status": "True"} for kind in ("A", "C")]
    await api.create("/api/v1/nodes", {"metadata": {"name": prefix}, "status": {"conditions": conditions}})
    patch: Body = {"status": {"conditions": [{"type": kind, "status": "False"} for kind in ("B", "C")]}}
    body = (await api.patch(f"/api/v1/nodes/{prefix}/status", patch, STRATEGIC)).body
    found = [(condition["type"], condition["status"]) for condition in body["status"]["conditions"]]
    assert found == [("B", "False"), ("A", "True"), ("C", "False")]


async def test_a_patch_that_changes_nothing_is_not_a_revision(api: Api, maps: str) -> None:
    created = await api.create(maps, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    same: Body = {"data": {"k": "v"}}
    for kind in (MERGE, STRATEGIC):
        reply = await api.patch(f"{maps}/a", same, kind)
        assert reply.body["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_who_changes_finalizers_last_deletes_once(api: Api, maps: str) -> None:
    await api.create(maps, {"metadata": {"name": "a", "finalizers": ["e.com/x", "e.com/y"]}})
    await api.delete(f"{maps}/a")
    again = await api.delete(f"{maps}/a")
    assert again.status == 200
    kept = await api.patch(f"{maps}/a", {"metadata": {"finalizers": ["e.com/y"]}})
    assert kept.body["metadata"]["deletionTimestamp"]
    assert (await api.post(maps, {"metadata": {"name": "a"}})).status == 409
    last = await api.patch(f"{maps}/a", {"metadata": {"finalizers": []}})
    assert last.status == 200
    assert (await api.get(f"{maps}/a")).status == 404
