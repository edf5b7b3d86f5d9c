"""What is wrong with a CustomResourceDefinition, besides its metadata."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.rules import schema_causes
from mco.apiserver.strategies import names
from mco.apiserver.strategies.strategy import Obj

_COLUMN_TYPES = "boolean,date,integer,number,string"
_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_APPROVED = "api-approved.kubernetes.io"
_APPROVAL = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_SCALARS = ("string", "boolean", "integer")


def definition_causes(new: Obj, old: Obj | None) -> list[Cause]:
    spec = new["spec"]
    return [
        *_place(new, spec),
        *_names(spec["names"]),
        *_conversion(spec.get("conversion") or {}),
        *_immutable(spec, old),
        *_versions(spec, new),
        *(_approval(new, spec) if old is None else ()),
    ]


def _place(new: Obj, spec: Obj) -> Iterator[Cause]:
    group, scope = spec.get("group") or "", spec.get("scope")
    if (name := new["metadata"].get("name")) != f"{spec['names'].get('plural') or ''}.{group}":
        detail = 'must be spec.names.plural+"."+spec.group'
        yield errors.invalid_value("metadata.name", name, detail)
    if not group:
        yield errors.required("spec.group")
    elif problems := names.subdomain_errors(group):
        yield errors.invalid_value("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield errors.invalid_value("spec.group", group, "should be a domain with at least one dot")
    if not scope:
        yield errors.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield errors.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema"
        )
        yield errors.invalid_value("spec.preserveUnknownFields", True, f"{detail} instead")


def _names(wanted: Obj) -> Iterator[Cause]:
    for name in ("plural", "singular", "kind", "listKind"):
        value, place = wanted.get(name) or "", f"spec.names.{name}"
        is_kind = name in ("kind", "listKind")
        if not value:
            yield errors.required(place)
        elif problems := names.dns1035_errors(value.lower() if is_kind else value):
            before = "may have mixed case, but should otherwise match: " if is_kind else ""
            yield errors.invalid_value(place, value, before + ",".join(problems))
    for name in ("shortNames", "categories"):
        for index, value in enumerate(wanted.get(name) or ()):
            if problems := names.dns1035_errors(value):
                yield errors.invalid_value(f"spec.names.{name}[{index}]", value, ",".join(problems))
    if wanted.get("kind") and wanted["kind"] == wanted.get("listKind"):
        detail = "kind and listKind may not be the same"
        yield errors.invalid_value("spec.names.listKind", wanted["listKind"], detail)


def _conversion(conversion: Obj) -> Iterator[Cause]:
    place, strategy, webhook = "spec.conversion", conversion.get("strategy"), conversion.get("webhook") or {}
    if strategy not in ("None", "Webhook"):
        yield errors.not_supported(f"{place}.strategy", strategy, ("None", "Webhook"))
    elif strategy == "Webhook":
        yield errors.forbidden_field(f"{place}.strategy", "this server converts no versions")
    elif webhook:
        detail = "should not be set when strategy is not set to Webhook"
        for name, shown in (
            ("clientConfig", "webhookClientConfig"),
            ("conversionReviewVersions", "conversionReviewVersions"),
        ):
            if webhook.get(name):
                yield errors.forbidden_field(f"{place}.{shown}", detail)


def _immutable(spec: Obj, old: Obj | None) -> list[Cause]:
    if old is None:
        return []
    before = old["spec"]
    checks = (
        ("spec.group", spec.get("group"), before.get("group")),
        ("spec.scope", spec.get("scope"), before.get("scope")),
        ("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind")),
        ("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")),
    )
    return [
        errors.invalid_value(field, value, "field is immutable")
        for field, value, was in checks
        if value != was
    ]


def _versions(spec: Obj, new: Obj) -> Iterator[Cause]:
    versions: list[Obj] = spec.get("versions") or []
    listed = [version.get("name") or "" for version in versions]
    if len(set(listed)) < len(listed):
        yield errors.invalid_value("spec.versions", _shown(spec), "must contain unique version names")
    if sum(version["storage"] for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield errors.invalid_value("spec.versions", _shown(spec), detail)
    yield from _stored(new["status"]["storedVersions"], versions)
    for index, version in enumerate(versions):
        place, name = f"spec.versions[{index}]", version.get("name") or ""
        if problems := names.dns1035_errors(name):
            yield errors.invalid_value(f"{place}.name", name, ",".join(problems))
            if index == 0:
                yield errors.invalid_value("spec.version", name, ",".join(problems))
        if version.get("deprecationWarning") is not None:
            yield from _deprecation(version, f"{place}.deprecationWarning")
        if not isinstance((version.get("schema") or {}).get("openAPIV3Schema"), dict):
            yield errors.required(f"{place}.schema.openAPIV3Schema")
    parts: tuple[tuple[str, str, Callable[[Any, str, Obj], Iterator[Cause]]], ...] = (
        ("schema", "validation", _schema),
        ("subresources", "subresources", _subresources),
        ("additionalPrinterColumns", "additionalPrinterColumns", _columns),
        ("selectableFields", "selectableFields", _selectable),
    )
    for name, shared, check in parts:
        values = [version.get(name) for version in versions]
        if values and values[0] and all(value == values[0] for value in values):
            # What all versions have in common is one thing to the original, and so are its mistakes.
            yield from check(values[0], f"spec.{shared}", versions[0])
            continue
        for index, value in enumerate(values):
            if value:
                yield from check(value, f"spec.versions[{index}].{name}", versions[index])


def _shown(spec: Obj) -> Any:
    """Versions as the original has them in memory."""
    if spec.get("versions") is None:
        return None
    empty = ("Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields")
    return [
        {
            "Name": version.get("name") or "",
            "Served": version["served"],
            "Storage": version["storage"],
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            **dict.fromkeys(empty),
        }
        for version in spec["versions"]
    ]


def _stored(stored: list[str], versions: list[Obj]) -> Iterator[Cause]:
    place = "status.storedVersions"
    if not stored:
        yield errors.invalid_value(place, None, "must have at least one stored version")
        return
    for version in versions:
        if version["storage"] and version.get("name") not in stored:
            yield errors.invalid_value(place, stored, f"must have the storage version {version.get('name')}")
    for index, name in enumerate(stored):
        if all(version.get("name") != name for version in versions):
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield errors.invalid_value(f"{place}[{index}]", name, detail)


def _deprecation(version: Obj, place: str) -> Iterator[Cause]:
    text: str = version["deprecationWarning"]
    detail = ""
    if not version.get("deprecated"):
        detail = "can only be set for deprecated versions"
    elif not text:
        detail = "cannot be an empty string"
    elif len(text.encode()) > 256:
        detail = "must be <= 256 characters long"
    elif (strange := next((i for i, c in enumerate(text) if not c.isprintable()), -1)) >= 0:
        detail = (
            f"must only contain printable UTF-8 characters; non-printable character found at index {strange}"
        )
    if detail:
        yield errors.invalid_value(place, text, detail)


def _schema(value: Obj, place: str, _: Obj) -> Iterator[Cause]:
    schema = value.get("openAPIV3Schema")
    if isinstance(schema, dict):
        yield from _judged(msgspec.json.encode(schema), f"{place}.openAPIV3Schema")


@functools.lru_cache(maxsize=64)
def _judged(schema: bytes, field: str) -> tuple[Cause, ...]:
    """A definition is written more often than its schema changes: its conditions, its labels."""
    return tuple(schema_causes(msgspec.json.decode(schema), field))


def _subresources(value: Obj, place: str, _: Obj) -> Iterator[Cause]:
    scale = value.get("scale")
    if scale is None:
        return
    for name, below, roots in (
        ("specReplicasPath", "a json path under .spec", (".spec.",)),
        ("statusReplicasPath", "a json path under .status", (".status.",)),
        ("labelSelectorPath", "a json path under either .spec or .status", (".spec.", ".status.")),
    ):
        path = scale.get(name) or ""
        if not path and name != "labelSelectorPath":
            yield errors.required(f"{place}.scale.{name}")
        elif path and not path.startswith(roots):
            yield errors.invalid_value(f"{place}.scale.{name}", path, f"should be {below}")


def _columns(columns: list[Obj], field: str, _: Obj) -> Iterator[Cause]:
    for index, column in enumerate(columns):
        place, kind, path = f"{field}[{index}]", column.get("type"), column.get("jsonPath")
        if not column.get("name"):
            yield errors.required(f"{place}.name")
        if not kind:
            yield errors.required(f"{place}.type", f"must be one of {_COLUMN_TYPES}")
        elif kind not in _COLUMN_TYPES.split(","):
            yield errors.invalid_value(f"{place}.type", kind, f"must be one of {_COLUMN_TYPES}")
        if (form := column.get("format")) and form not in _FORMATS.split(","):
            yield errors.invalid_value(f"{place}.format", form, f"must be one of {_FORMATS}")
        if not path:
            yield errors.required(f"{place}.JSONPath")
        elif not path.startswith("."):
            detail = "must be a simple json path starting with ."
            yield errors.invalid_value(f"{place}.JSONPath", path, detail)


def _selectable(fields: list[Obj], place: str, version: Obj) -> Iterator[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, field in enumerate(fields):
        path, where = field.get("jsonPath") or "", f"{place}[{index}].jsonPath"
        if not path:
            yield errors.required(where)
        elif problem := _unselectable(path, schema):
            yield errors.invalid_value(where, path, problem)
        if path in seen:
            yield errors.duplicate(where, path)
        seen.add(path)


def _unselectable(path: str, schema: Any) -> str:
    if not path.startswith("."):
        return f"is an invalid path: expected [ or . but got: {path.partition('.')[0]}"
    if "[" in path:
        return "is an invalid path: array notation is not allowed"
    for name in path.split(".")[1:]:
        schema = (schema.get("properties") or {}).get(name) if isinstance(schema, Mapping) else None
    if schema is None or path.startswith(".metadata"):
        return "is an invalid path: does not refer to a valid field"
    if schema.get("type") not in _SCALARS:
        return (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            "formats are allowed."
        )
    return ""


def _approval(new: Obj, spec: Obj) -> Iterator[Cause]:
    """Groups of Kubernetes itself are not for everybody."""
    group = str(spec.get("group") or "")
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    given = (new["metadata"].get("annotations") or {}).get(_APPROVED, "")
    place = f"metadata.annotations[{_APPROVED}]"
    if not given:
        yield errors.required(place, f"{_APPROVAL}, {_SEE}")
    elif not given.startswith(("unapproved", "https://", "http://")):
        detail = f'{_APPROVAL} with either a URL or a reason starting with "unapproved", {_SEE}'
        yield errors.invalid_value(place, given, detail)
