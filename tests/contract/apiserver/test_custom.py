"""Objects of CustomResourceDefinitions: pruned, defaulted, validated, versioned."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.contract.apiserver.definitions import CRDS, define, definition
from tests.contract.apiserver.endpoint import STRATEGIC, Api, Body, Endpoint

SPEC: Body = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
        "limit": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "note": {"type": "string", "nullable": True},
        "tags": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
            "maxItems": 3,
        },
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


@pytest.fixture
async def widgets(api: Api, prefix: str) -> str:
    return await define(api, definition(prefix, SPEC))


def widget(name_: str, **spec: Any) -> Body:
    return {"metadata": {"name": name_}, "spec": {"size": 1} | spec}


async def test_a_definition_is_accepted_and_established(api: Api, prefix: str) -> None:
    await define(api, definition(prefix))
    body = (await api.get(f"{CRDS}/{prefix}widgets.{prefix}.example.com")).body
    assert body["spec"]["names"]["listKind"] == f"{prefix.capitalize()}WidgetList"
    assert body["spec"]["names"]["singular"] == f"{prefix}widget"
    assert body["status"]["storedVersions"] == ["v1"]
    conditions = {c["type"]: c["status"] for c in body["status"]["conditions"]}
    assert (conditions["NamesAccepted"], conditions["Established"]) == ("True", "True")


async def test_unknown_fields_are_pruned_and_defaults_set(api: Api, widgets: str) -> None:
    spec = {"size": 3, "shape": "round", "free": {"any": [1]}, "parts": [{"id": "a", "x": 1}]}
    created = await api.create(widgets, widget("a", **spec) | {"extra": 1})
    assert "extra" not in created
    assert created["spec"] == {
        "size": 3,
        "color": "red",
        "free": {"any": [1]},
        "parts": [{"id": "a", "count": 1}],
    }
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"size": 11}, "spec.size", "spec.size in body should be less than or equal to 10"),
        ({"size": 0}, "spec.size", "spec.size in body should be greater than or equal to 1"),
        ({"size": "1"}, "spec.size", 'spec.size in body must be of type integer: "string"'),
        ({"color": "blue"}, "spec.color", 'supported values: "red", "green"'),
        ({"name": "A1"}, "spec.name", "spec.name in body should match '^[a-z]+$'"),
        ({"name": "a\n"}, "spec.name", "spec.name in body should match '^[a-z]+$'"),
        ({"name": "a"}, "spec.name", "spec.name in body should be at least 2 chars long"),
        ({"name": "abcdef"}, "spec.name", "Too long: may not be more than 5 bytes"),
        ({"limit": True}, "spec.limit", "spec.limit in body must be of type"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", 'Duplicate value: "a"'),
        ({"tags": list("abcd")}, "spec.tags", "Too many: 4: must have at most 3 items"),
        ({"parts": [{"id": "a"}, {"id": "a"}]}, "spec.parts[1]", 'Duplicate value: {"id":"a"}'),
        ({"parts": [{}]}, "spec.parts[0].id", "Required value"),
        ({"labels": {"k": 1}}, "spec.labels.k", 'spec.labels.k in body must be of type string: "integer"'),
    ],
)
async def test_values_are_validated(api: Api, widgets: str, spec: Body, field: str, message: str) -> None:
    reply = await api.post(widgets, widget("a", **spec))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    causes = [(c["field"], c["message"]) for c in reply.body["details"]["causes"]]
    assert any(place == field and message in text for place, text in causes), causes


async def test_a_required_field_must_be_there(api: Api, widgets: str, prefix: str) -> None:
    reply = await api.post(widgets, {"metadata": {"name": "a"}, "spec": {}})
    kind = f"{prefix.capitalize()}Widget.{prefix}.example.com"
    assert reply.message == f'{kind} "a" is invalid: spec.size: Required value'


@pytest.mark.parametrize("value", [5, "5%"])
async def test_int_or_string_takes_both(api: Api, widgets: str, value: int | str) -> None:
    assert (await api.create(widgets, widget("a", limit=value)))["spec"]["limit"] == value


async def test_null_is_kept_where_allowed_and_defaulted_elsewhere(api: Api, widgets: str) -> None:
    created = await api.create(widgets, widget("a", note=None, color=None))
    assert (created["spec"]["note"], created["spec"]["color"]) == (None, "red")


async def test_generation_counts_changes_of_the_spec_only(api: Api, widgets: str) -> None:
    path = f"{widgets}/a"
    await api.create(widgets, widget("a"))
    labelled = await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["generation"] == 1
    reported = await api.patch(f"{path}/status", {"status": {"ok": True}})
    assert reported.body["metadata"]["generation"] == 1
    changed = await api.patch(path, {"spec": {"size": 2}})
    assert changed.body["metadata"]["generation"] == 2


async def test_status_and_spec_have_writers_of_their_own(api: Api, widgets: str) -> None:
    created = await api.create(widgets, widget("a") | {"status": {"ok": False}})
    assert "status" not in created
    await api.patch(f"{widgets}/a", {"status": {"ok": False}, "spec": {"size": 2}})
    body = {"status": {"ok": True}, "spec": {"size": 3}, "metadata": {"labels": {"a": "b"}}}
    reply = await api.patch(f"{widgets}/a/status", body)
    assert (reply.body["spec"]["size"], reply.body["status"]) == (2, {"ok": True})
    assert "labels" not in reply.body["metadata"]


async def test_custom_objects_take_no_strategic_patch(api: Api, widgets: str) -> None:
    await api.create(widgets, widget("a"))
    reply = await api.patch(f"{widgets}/a", {}, STRATEGIC)
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")


async def test_what_no_alternative_takes_is_told_thrice(api: Api, widgets: str) -> None:
    reply = await api.post(widgets, widget("a", limit=[]))
    causes = [(cause["field"], cause["message"]) for cause in reply.body["details"]["causes"]]
    kinds = "spec.limit in body must be of type"
    assert causes == [
        ("spec.limit", f'Invalid value: "array": {kinds} integer,string: "array"'),
        ("<nil>", 'Invalid value: "": "spec.limit" must validate at least one schema (anyOf)'),
        ("spec.limit", f'Invalid value: "array": {kinds} integer: "array"'),
    ]


async def test_a_body_must_say_its_kind(api: Api, widgets: str) -> None:
    reply = await api.request("POST", widgets, b'{"metadata":{"name":"a"},"spec":{"size":1}}')
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    assert reply.message == (
        f"the object provided is unrecognized (must be of type {api.kinds[widgets][1]}): Object 'Kind' is "
        """missing in '{"metadata":{"name":"a"},"spec":{"size":1}}' ({"metadata":{"name":"a"},"spec ...)"""
    )


@pytest.mark.usefixtures("namespace")
async def test_a_namespaced_definition(api: Api, prefix: str) -> None:
    body = definition(prefix)
    body["spec"]["scope"] = "Namespaced"
    path = await define(api, body)
    inside = path.replace("/v1/", f"/v1/namespaces/{prefix}/")
    api.kinds[inside] = api.kinds[path]
    await api.create(inside, {"metadata": {"name": "a"}})
    assert [i["metadata"]["namespace"] for i in (await api.get(path)).body["items"]] == [prefix]
    assert (await api.post(path, {"metadata": {"name": "b"}})).status in (404, 405)


async def test_all_served_versions_show_the_same_objects(api: Api, prefix: str) -> None:
    body = definition(prefix)
    second = copy.deepcopy(body["spec"]["versions"][0]) | {"name": "v2", "storage": False}
    body["spec"]["versions"].append(second)
    path = await define(api, body)
    await api.create(path, {"metadata": {"name": "a"}, "spec": {"k": "v"}})
    other = path.replace("/v1/", "/v2/")
    shown = (await api.get(f"{other}/a")).body
    assert (shown["apiVersion"], shown["spec"]) == (f"{prefix}.example.com/v2", {"k": "v"})
    assert (await api.get(other)).body["items"][0]["apiVersion"] == f"{prefix}.example.com/v2"
    async with api.watch(other) as events:
        assert (await events.next())["object"]["apiVersion"] == f"{prefix}.example.com/v2"


async def test_a_changed_schema_counts_at_once(endpoint: Endpoint, api: Api, prefix: str) -> None:
    path = await define(api, definition(prefix, SPEC))
    wider = definition(prefix, copy.deepcopy(SPEC))
    wider["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] = {
        "type": "integer"
    }
    reply = await api.patch(f"{CRDS}/{wider['metadata']['name']}", {"spec": wider["spec"]})
    assert reply.status == 200
    wide = widget("a", size=11)
    while endpoint.is_real and (await api.post(path, wide, dryRun="All")).status == 422:
        """Whoever serves the objects learns it by a watch of its own."""
    assert (await api.create(path, wide))["spec"]["size"] == 11


async def test_a_definition_takes_its_objects_along(api: Api, prefix: str) -> None:
    body = definition(prefix)
    path = await define(api, body)
    await api.create(path, {"metadata": {"name": "a"}})
    name = body["metadata"]["name"]
    async with api.watch(CRDS, fieldSelector=f"metadata.name={name}") as events:
        await api.delete(f"{CRDS}/{name}")
        await events.until("DELETED")
    while (await api.get(path)).status != 404:
        """Whoever serves the objects learns it by a watch of its own."""
    path = await define(api, body)
    assert (await api.get(path)).body["items"] == []


def _broken(prefix: str, change: Any) -> Body:
    body = definition(prefix, copy.deepcopy(SPEC))
    change(body)
    return body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda b: b["metadata"].update(name="other.example.com"), "metadata.name"),
        (lambda b: b["spec"].update(scope="World"), "spec.scope"),
        (lambda b: b["spec"].update(versions=[]), "spec.versions"),
        (lambda b: b["spec"]["versions"][0].update(storage=False), "spec.versions"),
        (lambda b: b["spec"]["versions"][0].pop("schema"), "spec.versions[0].schema.openAPIV3Schema"),
        (
            lambda b: b["spec"]["versions"][0]["schema"]["openAPIV3Schema"].pop("type"),
            "openAPIV3Schema.type",
        ),
        (
            lambda b: b["spec"]["versions"][0].update(additionalPrinterColumns=[{"name": "a", "type": "x"}]),
            "additionalPrinterColumns[0].type",
        ),
    ],
)
async def test_a_bad_definition_is_refused(api: Api, prefix: str, change: Any, field: str) -> None:
    reply = await api.post(CRDS, _broken(prefix, change))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    # The real server reports what all versions share as if it stood above them.
    assert any(cause["field"].endswith(field) for cause in reply.body["details"]["causes"])
