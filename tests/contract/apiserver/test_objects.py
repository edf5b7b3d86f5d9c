"""Create, get, update and delete, and how they are refused."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.contract.apiserver.endpoint import Api, Body

NODES = "/api/v1/nodes"


def config(name: str = "", **data: str) -> Body:
    metadata = {"name": name} if name else {"generateName": "made-"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_a_created_object_has_what_the_server_adds(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a", k="v"))
    metadata = created["metadata"]
    assert metadata["namespace"] == namespace.rsplit("/", 1)[1]
    assert re.fullmatch(r"[0-9a-f-]{36}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdigit()
    got = await api.get(f"{namespace}/configmaps/a")
    assert got.body == created


async def test_generate_name_makes_names(api: Api, namespace: str) -> None:
    one = await api.create(f"{namespace}/configmaps", config())
    two = await api.create(f"{namespace}/configmaps", config())
    assert one["metadata"]["name"] != two["metadata"]["name"]
    assert re.fullmatch(r"made-[a-z0-9]{5}", one["metadata"]["name"])


async def test_an_existing_name_is_refused(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", config("a"))
    reply = await api.post(f"{namespace}/configmaps", config("a"))
    assert (reply.status, reply.body["reason"]) == (409, "AlreadyExists")
    assert reply.message == 'configmaps "a" already exists'
    assert reply.body["details"] == {"name": "a", "kind": "configmaps"}


@pytest.mark.parametrize("name", ["A", "-a", "a_b", "a/b", "a" * 254, "a..b"])
async def test_a_bad_name_is_invalid(api: Api, namespace: str, name: str) -> None:
    reply = await api.post(f"{namespace}/configmaps", config(name))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert reply.message.startswith(f'ConfigMap "{name}" is invalid: metadata.name: Invalid value')
    assert {cause["field"] for cause in reply.body["details"]["causes"]} == {"metadata.name"}


async def test_everything_wrong_is_listed(api: Api, namespace: str) -> None:
    body = config("a")
    body["metadata"] |= {"labels": {"a b": "x", "ok": "no way"}, "finalizers": ["no way"]}
    reply = await api.post(f"{namespace}/configmaps", body)
    assert reply.status == 422
    fields = [cause["field"] for cause in reply.body["details"]["causes"]]
    assert fields.count("metadata.labels") == 2
    assert "metadata.finalizers" in fields
    assert reply.message.startswith('ConfigMap "a" is invalid: [')


async def test_no_name_at_all_is_invalid(api: Api, namespace: str) -> None:
    reply = await api.post(f"{namespace}/configmaps", {"metadata": {}})
    assert reply.message == (
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )


async def test_what_is_not_there_is_not_found(api: Api, namespace: str) -> None:
    reply = await api.get(f"{namespace}/configmaps/missing")
    assert (reply.status, reply.body["reason"]) == (404, "NotFound")
    assert reply.message == 'configmaps "missing" not found'
    assert reply.body["kind"] == "Status"
    assert reply.body["details"] == {"name": "missing", "kind": "configmaps"}


async def test_a_namespace_must_exist(api: Api) -> None:
    reply = await api.post("/api/v1/namespaces/nowhere/configmaps", config("a"))
    assert (reply.status, reply.message) == (404, 'namespaces "nowhere" not found')


@pytest.mark.parametrize("path", ["/api/v1/widgets", "/apis/no.group/v1/things", "/api/v2/nodes", "/nothing"])
async def test_an_unknown_path_is_not_found(api: Api, path: str) -> None:
    assert (await api.get(path)).status == 404


async def test_a_method_that_makes_no_sense_is_refused(api: Api, namespace: str) -> None:
    reply = await api.request("PUT", f"{namespace}/configmaps", {})
    assert (reply.status, reply.body["reason"]) == (405, "MethodNotAllowed")


async def test_a_body_of_another_kind_is_refused(api: Api, namespace: str) -> None:
    body = config("a") | {"kind": "Secret"}
    reply = await api.post(f"{namespace}/configmaps", body)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


async def test_a_body_for_another_namespace_is_refused(api: Api, namespace: str) -> None:
    body = config("a")
    body["metadata"]["namespace"] = "default"
    reply = await api.post(f"{namespace}/configmaps", body)
    assert reply.status == 400
    assert reply.message == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'"text"', b'{"metadata": 5}', b'{"metadata":{"labels":{"a":1}}}']
)
async def test_a_body_that_is_no_object_is_refused(api: Api, namespace: str, body: bytes) -> None:
    reply = await api.post(f"{namespace}/configmaps", body)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": "a"}, "data": {"a": 5}},
        {"metadata": {"name": "a"}, "data": []},
        {"metadata": {"name": "a"}, "immutable": "yes"},
    ],
)
async def test_a_value_of_a_wrong_type_is_refused(api: Api, namespace: str, body: Body) -> None:
    reply = await api.post(f"{namespace}/configmaps", body)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    assert "ConfigMap" in reply.message


async def test_a_body_of_an_unknown_media_type_is_refused(api: Api, namespace: str) -> None:
    reply = await api.request("POST", f"{namespace}/configmaps", b"x", kind="text/plain")
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")


async def test_yaml_is_understood(api: Api, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {k: v}\n"
    reply = await api.request("POST", f"{namespace}/configmaps", body, kind="application/yaml")
    assert (reply.status, reply.body["data"]) == (201, {"k": "v"})


async def test_a_body_over_the_limit_is_refused(api: Api, namespace: str) -> None:
    reply = await api.post(f"{namespace}/configmaps", config("a", k="x" * (3 * 1024 * 1024)))
    assert (reply.status, reply.body["reason"]) == (413, "RequestEntityTooLarge")


async def test_an_answer_nobody_can_give_is_refused(api: Api, namespace: str) -> None:
    reply = await api.request("GET", f"{namespace}/configmaps", accept="text/html")
    assert reply.status == 406


async def test_update_replaces_and_is_optimistic(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a", k="1"))
    first = await api.put(f"{namespace}/configmaps/a", created | {"data": {"k": "2"}})
    assert first.status == 200
    assert int(first.body["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert first.body["metadata"]["uid"] == created["metadata"]["uid"]
    second = await api.put(f"{namespace}/configmaps/a", created | {"data": {"k": "3"}})
    assert (second.status, second.body["reason"]) == (409, "Conflict")
    assert second.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_an_update_without_a_version_is_unconditional(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", config("a", k="1"))
    reply = await api.put(f"{namespace}/configmaps/a", config("a", k="2"))
    assert (reply.status, reply.body["data"]) == (200, {"k": "2"})


async def test_some_kinds_are_never_updated_unconditionally(api: Api, prefix: str) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    await api.create(path, {"metadata": {"name": prefix}})
    reply = await api.put(f"{path}/{prefix}", {"metadata": {"name": prefix}})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert "must be specified for an update" in reply.message


async def test_of_two_updates_of_one_version_one_wins(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a"))
    replies = await asyncio.gather(
        *(api.put(f"{namespace}/configmaps/a", created | {"data": {"by": str(n)}}) for n in range(8))
    )
    assert sorted(reply.status for reply in replies) == [200, *([409] * 7)]


async def test_patches_without_a_version_all_land(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", config("a"))
    patches = (api.patch(f"{namespace}/configmaps/a", {"data": {f"k{n}": "v"}}) for n in range(24))
    assert {reply.status for reply in await asyncio.gather(*patches)} == {200}
    assert len((await api.get(f"{namespace}/configmaps/a")).body["data"]) == 24


async def test_of_two_creations_of_one_name_one_wins(api: Api, namespace: str) -> None:
    creations = (api.post(f"{namespace}/configmaps", config("a", by=str(n))) for n in range(8))
    assert sorted(reply.status for reply in await asyncio.gather(*creations)) == [201, *([409] * 7)]


async def test_an_update_that_changes_nothing_is_not_a_revision(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a", k="1"))
    reply = await api.put(f"{namespace}/configmaps/a", created)
    assert reply.body["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_an_update_of_what_is_not_there_is_not_found(api: Api, namespace: str) -> None:
    assert (await api.put(f"{namespace}/configmaps/a", config("a"))).status == 404


async def test_what_the_server_owns_cannot_be_written(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a"))
    forged = {"creationTimestamp": "2001-01-01T00:00:00Z"}
    reply = await api.patch(f"{namespace}/configmaps/a", {"metadata": forged, "data": {"k": "v"}})
    assert reply.body["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    forged = {"deletionTimestamp": "2001-01-01T00:00:00Z"}
    reply = await api.patch(f"{namespace}/configmaps/a", {"metadata": forged})
    assert reply.message == (
        'ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": '
        "field is immutable"
    )


async def test_a_name_on_the_url_must_be_that_of_the_object(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", config("a"))
    reply = await api.put(f"{namespace}/configmaps/a", config("b"))
    assert reply.status == 400
    assert reply.message == "the name of the object (b) does not match the name on the URL (a)"


async def test_deletion_answers_with_a_status(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a"))
    reply = await api.delete(f"{namespace}/configmaps/a")
    assert (reply.status, reply.body["status"]) == (200, "Success")
    assert reply.body["details"] == {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert (await api.get(f"{namespace}/configmaps/a")).status == 404
    assert (await api.delete(f"{namespace}/configmaps/a")).status == 404


async def test_deletion_keeps_its_preconditions(api: Api, namespace: str) -> None:
    created = await api.create(f"{namespace}/configmaps", config("a"))
    wrong = {"preconditions": {"uid": "0"}}
    reply = await api.delete(f"{namespace}/configmaps/a", wrong)
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    assert "the UID in the precondition (0) does not match the UID in record" in reply.message
    reply = await api.delete(f"{namespace}/configmaps/a", {"preconditions": {"resourceVersion": "1"}})
    assert reply.status == 409
    assert reply.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does '
        f"not match the ResourceVersion in record ({created['metadata']['resourceVersion']}). "
        "The object might have been modified"
    )
    right = {"preconditions": {"uid": created["metadata"]["uid"]}}
    assert (await api.delete(f"{namespace}/configmaps/a", right)).status == 200


async def test_finalizers_hold_a_deleted_object(api: Api, namespace: str) -> None:
    body = config("a")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await api.create(f"{namespace}/configmaps", body)
    reply = await api.delete(f"{namespace}/configmaps/a")
    assert reply.body["metadata"]["deletionTimestamp"]
    added = await api.patch(
        f"{namespace}/configmaps/a", {"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}}
    )
    assert added.status == 422
    assert "no new finalizers can be added if the object is being deleted" in added.message
    last = await api.patch(f"{namespace}/configmaps/a", {"metadata": {"finalizers": None}})
    assert last.status == 200
    assert (await api.get(f"{namespace}/configmaps/a")).status == 404


async def test_a_collection_is_deleted_by_selector(api: Api, namespace: str) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        body = config(name)
        body["metadata"]["labels"] = {"l": label}
        await api.create(f"{namespace}/configmaps", body)
    reply = await api.delete(f"{namespace}/configmaps", labelSelector="l=x")
    assert [item["metadata"]["name"] for item in reply.body["items"]] == ["a", "b"]
    left = await api.get(f"{namespace}/configmaps")
    assert [item["metadata"]["name"] for item in left.body["items"]] == ["c"]


async def test_a_dry_run_changes_nothing(api: Api, namespace: str) -> None:
    path = f"{namespace}/configmaps"
    made = await api.post(path, config("a"), dryRun="All")
    assert (made.status, made.body["metadata"]["name"]) == (201, "a")
    assert (await api.get(f"{path}/a")).status == 404
    await api.create(path, config("a", k="1"))
    changed = await api.patch(f"{path}/a", {"data": {"k": "2"}}, dryRun="All")
    assert changed.body["data"] == {"k": "2"}
    assert (await api.delete(f"{path}/a", dryRun="All")).status == 200
    assert (await api.get(f"{path}/a")).body["data"] == {"k": "1"}


async def test_a_node_has_status_apart(api: Api, prefix: str) -> None:
    body = {"metadata": {"name": prefix}, "status": {"nodeInfo": {"machineID": "m"}}}
    created = await api.create(NODES, body)
    assert created["status"]["nodeInfo"]["machineID"] == "m"
    path = f"{NODES}/{prefix}"
    await api.patch(path, {"spec": {"unschedulable": True}, "status": {"phase": "x"}})
    await api.patch(f"{path}/status", {"spec": {"unschedulable": False}, "status": {"phase": "y"}})
    node = (await api.get(path)).body
    assert (node["spec"], node["status"]["phase"]) == ({"unschedulable": True}, "y")


async def test_a_status_writer_may_annotate_a_node(api: Api, prefix: str) -> None:
    await api.create(NODES, {"metadata": {"name": prefix}})
    reply = await api.patch(f"{NODES}/{prefix}/status", {"metadata": {"annotations": {"a": "b"}}})
    assert reply.body["metadata"]["annotations"] == {"a": "b"}


async def test_a_taint_needs_a_known_effect(api: Api, prefix: str) -> None:
    body = {"metadata": {"name": prefix}, "spec": {"taints": [{"key": "k", "effect": "Sometimes"}]}}
    reply = await api.post(NODES, body)
    assert reply.message == (
        f'Node "{prefix}" is invalid: metadata.taints[0].effect: Unsupported value: "Sometimes": '
        'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
    )


async def test_a_secret_takes_plain_text_and_keeps_base64(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"k": "v"}}
    created = await api.create(f"{namespace}/secrets", body)
    assert (created["data"], created["type"]) == ({"k": "dg=="}, "Opaque")
    assert "stringData" not in created
    bad = await api.post(f"{namespace}/secrets", {"metadata": {"name": "t"}, "data": {"k": "top secret"}})
    assert bad.status in (400, 422)
    assert "top secret" not in bad.message


async def test_an_immutable_config_map_stays(api: Api, namespace: str) -> None:
    await api.create(f"{namespace}/configmaps", config("a", k="v") | {"immutable": True})
    reply = await api.patch(f"{namespace}/configmaps/a", {"data": {"k": "w"}})
    assert "field is immutable when `immutable` is set" in reply.message


async def test_unknown_fields_are_dropped_warned_of_or_refused(api: Api, namespace: str) -> None:
    body = config("a") | {"colour": "red"}
    path = f"{namespace}/configmaps"
    strict = await api.post(path, body, fieldValidation="Strict")
    assert (strict.status, strict.body["reason"]) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "colour"' in strict.message
    warned = await api.post(path, body, fieldValidation="Warn")
    assert "colour" not in warned.body
    assert warned.headers["Warning"] == '299 - "unknown field \\"colour\\""'
    await api.delete(f"{path}/a")
    silent = await api.post(path, body, fieldValidation="Ignore")
    assert "Warning" not in silent.headers


async def test_an_evicted_pod_is_gone(api: Api, namespace: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await api.create(f"{namespace}/pods", pod)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    reply = await api.post(f"{namespace}/pods/p/eviction", eviction)
    assert (reply.status, reply.body["status"]) == (201, "Success")
    assert (await api.get(f"{namespace}/pods/p")).status == 404
