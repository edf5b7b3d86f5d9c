"""OpenAPI v3: what `kubectl explain` prints, and how `kubectl` learns that the server validates fields."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from mco.apiserver.http.request import Request
from mco.apiserver.http.respond import Answer, encode
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import Served
from mco.apiserver.writes import patches

Obj = dict[str, Any]

ROOT = "/openapi/v3"
_OLD = "/openapi/v2"
_OLD_MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# An OpenAPI v2 document without paths and definitions, as protocol buffer: field 1 `swagger`, field 2 `info`
# with title and version. `kubectl` wants one before it applies a List, and skips what is not described.
_OLD_DOCUMENT = b"\x0a\x032.0\x12\x10\x0a\x0aKubernetes\x12\x02v1"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")


def describe(catalog: Catalog, request: Request) -> Answer | None:
    """The answer for `/openapi/v3`, the documents below it and `/openapi/v2`; None for another path."""
    path = request.target.path.rstrip("/")
    if path == _OLD:
        # Clients write the media type in two ways, with `.v1.0` and with `@v1.0`.
        if "proto-openapi.spec.v2" not in request.headers.get("accept", ""):
            info = {"title": "Kubernetes", "version": "v1"}
            return encode({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}})
        return Answer(body=_OLD_DOCUMENT, content_type=_OLD_MEDIA)
    if path == ROOT:
        return encode({"paths": {_place(each[0]): _link(each) for each in _by_version(catalog).values()}})
    group = _by_version(catalog).get(path.removeprefix(f"{ROOT}/")) if path.startswith(ROOT) else None
    return encode(_document(group)) if group else None


def _by_version(catalog: Catalog) -> dict[str, list[Served]]:
    result: dict[str, list[Served]] = {}
    for served in catalog:
        result.setdefault(_place(served), []).append(served)
    return result


def _place(served: Served) -> str:
    return f"apis/{served.api_version}" if served.group else f"api/{served.version}"


def _link(group: list[Served]) -> Obj:
    # Clients cache a document by its hash: it must change with the schemas.
    digest = hashlib.sha256(msgspec.json.encode(_document(group))).hexdigest()[:32]
    return {"serverRelativeURL": f"{ROOT}/{_place(group[0])}?hash={digest}"}


def _document(group: list[Served]) -> Obj:
    paths: Obj = {}
    schemas: Obj = {_META: _METADATA}
    for served in group:
        schemas[_name(served)] = _schema(served)
        paths[_path(served)] = {"patch": _patch(served)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _path(served: Served) -> str:
    inside = "namespaces/{namespace}/" if served.namespaced else ""
    return f"/{_place(served)}/{inside}{served.plural}/{{name}}"


def _patch(served: Served) -> Obj:
    # Strategic merge patch is left out: with it here, clients would look for its keys in the schemas, where
    # they are not; without it they use those that they know of the built-in kinds.
    media = (patches.JSON, patches.MERGE)
    schema = {"$ref": f"#/components/schemas/{_name(served)}"}
    return {
        "operationId": f"patch{served.kind}",
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in _PARAMETERS
        ],
        "requestBody": {"content": {each: {"schema": {"type": "object"}} for each in media}},
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _kind(served),
    }


def _schema(served: Served) -> Obj:
    schema: Obj = dict(served.schema or {"type": "object"})
    properties = dict(schema.get("properties") or {})
    properties["apiVersion"] = {"type": "string", "description": "APIVersion of the object."}
    properties["kind"] = {"type": "string", "description": "Kind of the object."}
    properties["metadata"] = {
        "description": "Standard object's metadata.",
        "allOf": [_ref(_META)],
        "default": {},
    }
    return {**schema, "properties": properties, "x-kubernetes-group-version-kind": [_kind(served)]}


def _ref(name: str) -> Obj:
    return {"$ref": f"#/components/schemas/{name}"}


def _kind(served: Served) -> Obj:
    return {"group": served.group, "kind": served.kind, "version": served.version}


def _name(served: Served) -> str:
    if served.custom:
        return f"{'.'.join(reversed(served.group.split('.')))}.{served.version}.{served.kind}"
    group = served.group.partition(".")[0] or "core"
    return f"io.k8s.api.{group}.{served.version}.{served.kind}"


def _text_map(description: str) -> Obj:
    return {"type": "object", "additionalProperties": {"type": "string"}, "description": description}


_METADATA: Obj = {
    "type": "object",
    "description": "ObjectMeta is metadata that all persisted resources must have.",
    "properties": {
        "annotations": _text_map("Unstructured data of external tools."),
        "creationTimestamp": {"type": "string", "format": "date-time", "description": "When it was created."},
        "deletionTimestamp": {
            "type": "string",
            "format": "date-time",
            "description": "When its deletion was asked for.",
        },
        "finalizers": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Who must act before the object is removed.",
        },
        "generateName": {"type": "string", "description": "Prefix of a name that the server completes."},
        "generation": {"type": "integer", "format": "int64", "description": "Counts changes of the spec."},
        "labels": _text_map("Keys and values that selectors match."),
        "name": {"type": "string", "description": "Unique within a namespace."},
        "namespace": {"type": "string", "description": "The space within which the name is unique."},
        "ownerReferences": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Objects that this one depends on.",
        },
        "resourceVersion": {"type": "string", "description": "The revision of the object, opaque."},
        "uid": {"type": "string", "description": "Unique in time and space."},
    },
}
