"""Definitions that the server does not take, and why: every row is what both servers say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract.apiserver.definitions import CRDS, definition
from tests.contract.apiserver.endpoint import Api, Body

CASES = json.loads(Path(__file__).with_name("refusedschemas.json").read_text())
"""Schemas, of a field or of the whole object, with the places in them and what is said of each;
`since` names the first real version that does."""


async def refused(api: Api, body: Body) -> list[tuple[str, str]]:
    reply = await api.post(CRDS, body, dryRun="All")
    assert (reply.status, reply.body["reason"]) == (422, "Invalid"), reply.body
    return sorted((cause["field"], cause["message"]) for cause in reply.body["details"]["causes"])


def _param(case: Body) -> Any:
    marks = [pytest.mark.since(case["since"])] if "since" in case else []
    return pytest.param(case, marks=marks, id=json.dumps(case["schema"])[:60])


@pytest.mark.parametrize("case", [_param(case) for case in CASES])
async def test_a_schema_that_cannot_be(api: Api, prefix: str, case: Body) -> None:
    place = "spec.validation.openAPIV3Schema"
    body = definition(prefix, {"type": "object", "properties": {"f": case["schema"]}})
    if case["of"] == "field":
        place += ".properties[spec].properties[f]"
    else:
        schema = {"openAPIV3Schema": case["schema"]}
        body["spec"]["versions"][0] |= {"schema": schema, "subresources": {}}
    found = await refused(api, body)
    shown = [[field.removeprefix(place).lstrip("."), text] for field, text in found]
    assert shown == case["causes"]


def changed(body: Body, path: str, value: Any) -> None:
    *before, last = path.split(".")
    place: Any = body
    for step in before:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value


RULE = "must consist of lower case alphanumeric characters or '-', start with an alphabetic character"


@pytest.mark.parametrize(
    ("changes", "fields", "message"),
    [
        ({"spec.scope": ""}, ["spec.scope"], "Required value"),
        ({"spec.scope": "X"}, ["spec.scope"], 'Unsupported value: "X"'),
        ({"spec.group": "x"}, ["metadata.name", "spec.group"], "should be a domain with at least one dot"),
        ({"spec.names.singular": "A B"}, ["spec.names.singular"], RULE),
        ({"spec.names.shortNames": ["A"]}, ["spec.names.shortNames[0]"], RULE),
        ({"spec.names.categories": ["A b"]}, ["spec.names.categories[0]"], RULE),
        ({"spec.names.listKind": "K_"}, ["spec.names.listKind"], "may have mixed case, but should otherwise"),
        ({"spec.versions.0.name": "V_1"}, ["spec.version", "spec.versions[0].name"], RULE),
        (
            {"spec.versions.0.storage": False},
            ["spec.versions", "status.storedVersions"],
            "must have exactly one version marked as storage version",
        ),
        (
            {"spec.versions.0.schema": {}},
            ["spec.versions[0].schema.openAPIV3Schema"],
            "Required value",
        ),
        ({"spec.preserveUnknownFields": True}, ["spec.preserveUnknownFields"], "cannot set to true"),
        (
            {"spec.versions.0.deprecationWarning": "x"},
            ["spec.versions[0].deprecationWarning"],
            "can only be set for deprecated versions",
        ),
        (
            {"spec.versions.0.additionalPrinterColumns": [{"name": "A", "type": "x", "jsonPath": "a"}]},
            ["spec.additionalPrinterColumns[0].JSONPath", "spec.additionalPrinterColumns[0].type"],
            "must be one of boolean,date,integer,number,string",
        ),
        (
            {"spec.versions.0.selectableFields": [{"jsonPath": ".spec.g"}, {"jsonPath": ".spec"}]},
            ["spec.selectableFields[0].jsonPath", "spec.selectableFields[1].jsonPath"],
            "is an invalid path: does not refer to a valid field",
        ),
        (
            {"spec.versions.0.subresources": {"scale": {"specReplicasPath": ".x"}}},
            [
                "spec.subresources.scale.specReplicasPath",
                "spec.subresources.scale.statusReplicasPath",
            ],
            "should be a json path under .spec",
        ),
    ],
)
async def test_a_definition_that_cannot_be(
    api: Api, prefix: str, changes: Mapping[str, Any], fields: list[str], message: str
) -> None:
    body = definition(prefix, {"type": "object", "properties": {"f": {"type": "string"}}})
    for path, value in changes.items():
        changed(body, path, value)
    found = await refused(api, body)
    assert [field for field, _ in found] == fields
    assert any(message in text for _, text in found)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": "1"}, "string into {}.minimum of type float64"),
        ({"type": ["string"]}, "array into {}.type of type string"),
        ({"type": "string", "nullable": 1}, "number into {}.nullable of type bool"),
        ({"type": "object", "properties": 5}, "number into {}.properties of type map[string]"),
        ({"type": "array", "items": {"type": "string"}, "allOf": {}}, "object into {}.allOf of type []"),
        ({"type": "string", "enum": "a"}, "string into {}.enum of type []"),
    ],
)
async def test_what_is_no_schema_at_all(api: Api, prefix: str, schema: Body, text: str) -> None:
    reply = await api.post(CRDS, definition(prefix, {"type": "object", "properties": {"f": schema}}))
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    place = "Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.properties"
    assert f"json: cannot unmarshal {text.format(place)}" in reply.message


async def test_names_that_somebody_has(api: Api, prefix: str) -> None:
    """The second definition of a kind waits, with those names that it could have."""
    await api.create(CRDS, definition(prefix))
    second = definition(prefix)
    second["spec"]["names"] |= {"plural": f"{prefix}others", "singular": f"{prefix}other"}
    second["metadata"]["name"] = f"{prefix}others.{prefix}.example.com"
    second["spec"]["names"].pop("shortNames", None)
    async with api.watch(CRDS, fieldSelector=f"metadata.name={second['metadata']['name']}") as events:
        await api.create(CRDS, second)
        status: Body = {}
        while not status.get("conditions"):
            status = (await events.next())["object"].get("status") or {}
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    kind = second["spec"]["names"]["kind"]
    assert conditions["NamesAccepted"] == (
        "False",
        "ListKindConflict",
        f'"{kind}List" is already in use',
    )
    assert conditions["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert status["acceptedNames"]["plural"] == f"{prefix}others"
