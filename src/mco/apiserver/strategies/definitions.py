"""CustomResourceDefinitions: checked whole before anything is served by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mco.api.meta.jsonpath import compile_path
from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.rules import schema_causes
from mco.apiserver.strategies import names, schemas
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer
from mco.base.errors import InvalidInput

_KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?\Z")
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")

Taken = Callable[[str, str, str, str], str]
"""(group, plural, kind, definition's name) to the reason why these names cannot be had, or the empty text."""


class DefinitionStrategy(Strategy):
    schema = schemas.DEFINITION
    unconditional = False
    has_status = True
    counts = True

    def __init__(self, taken: Taken) -> None:
        super().__init__()
        self._taken = taken

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        spec = new.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
            return
        wanted = spec["names"]
        kind = str(wanted.get("kind", ""))
        wanted.setdefault("listKind", f"{kind}List")
        wanted.setdefault("singular", kind.lower())
        spec.setdefault("conversion", {"strategy": "None"})
        reason = self._taken(
            str(spec.get("group")), str(wanted.get("plural")), kind, str(new["metadata"].get("name"))
        )
        new["status"] = _status(new, old, reason, writer)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec = new.get("spec")
        if not isinstance(spec, dict):
            return [errors.required("spec")]
        return [*_names(new, spec), *_immutable(spec, old), *_versions(spec)]


def _status(new: Obj, old: Obj | None, taken: str, writer: Writer) -> Obj:
    before = (old or {}).get("status") or {}
    now = writer.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    versions = new["spec"].get("versions") or ()
    storage = [v.get("name") for v in versions if isinstance(v, dict) and v.get("storage")]
    accepted = ("True", "NoConflicts", "no conflicts found")
    established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    if taken:
        accepted = ("False", "KindConflict", taken)
        established = ("False", "NotAccepted", "not all names are accepted")
    wanted = (("NamesAccepted", accepted), ("Established", established))
    return {
        "conditions": [_condition(before, kind, value, now) for kind, value in wanted],
        "acceptedNames": new["spec"]["names"] if not taken else {"plural": "", "kind": ""},
        "storedVersions": list(dict.fromkeys([*(before.get("storedVersions") or ()), *storage])),
    }


def _condition(before: Obj, kind: str, value: tuple[str, str, str], now: str) -> Obj:
    status, reason, message = value
    old: Obj = next((c for c in before.get("conditions") or () if c["type"] == kind), {})
    since = old["lastTransitionTime"] if old.get("status") == status else now
    return {
        "lastTransitionTime": since,
        "message": message,
        "reason": reason,
        "status": status,
        "type": kind,
    }


def _names(new: Obj, spec: Obj) -> list[Cause]:
    wanted, group = spec.get("names") or {}, spec.get("group") or ""
    plural, kind = wanted.get("plural") or "", wanted.get("kind") or ""
    causes = []
    if not group:
        causes.append(errors.required("spec.group"))
    elif problems := names.subdomain_errors(group):
        causes.append(errors.invalid_value("spec.group", group, problems[0]))
    elif "." not in group:
        causes.append(errors.invalid_value("spec.group", group, "should be a domain with at least one dot"))
    if problems := names.label_errors(plural):
        causes.append(errors.invalid_value("spec.names.plural", plural, problems[0]))
    if not _KIND.match(kind):
        causes.append(
            errors.invalid_value("spec.names.kind", kind, "may have mixed case, but must start with a letter")
        )
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        causes.append(errors.not_supported("spec.scope", spec.get("scope"), ("Cluster", "Namespaced")))
    if (name := new["metadata"].get("name")) != f"{plural}.{group}":
        detail = 'must be spec.names.plural+"."+spec.group'
        causes.append(errors.invalid_value("metadata.name", name, detail))
    if (spec.get("conversion") or {}).get("strategy", "None") != "None":
        detail = "this server converts no versions"
        causes.append(errors.forbidden_field("spec.conversion.strategy", detail))
    return causes


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


def _versions(spec: Obj) -> list[Cause]:
    versions = spec.get("versions")
    if not isinstance(versions, list) or not versions:
        return [errors.required("spec.versions")]
    causes: list[Cause] = []
    if sum(bool(v.get("storage")) for v in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        causes.append(errors.invalid_value("spec.versions", len(versions), detail))
    seen: set[str] = set()
    schemas_of = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    is_shared = all(isinstance(one, dict) and one == schemas_of[0] for one in schemas_of)
    if is_shared and schemas_of[0]:
        # What all versions have in common is one schema to the real server, and so are its mistakes.
        causes += schema_causes(schemas_of[0], "spec.validation.openAPIV3Schema")
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        name = version.get("name") or ""
        if not _VERSION.match(name):
            causes.append(errors.invalid_value(f"{field}.name", name, names.LABEL_RULE))
        if name in seen:
            causes.append(errors.duplicate(f"{field}.name", name))
        seen.add(name)
        version.setdefault("served", False)
        version.setdefault("storage", False)
        schema = schemas_of[index]
        if not isinstance(schema, dict):
            causes.append(errors.required(f"{field}.schema.openAPIV3Schema", "schemas are required"))
        elif not is_shared:
            causes += schema_causes(schema, f"{field}.schema.openAPIV3Schema")
        causes += _columns(version, field)
    return causes


def _columns(version: Obj, field: str) -> list[Cause]:
    causes: list[Cause] = []
    columns: list[Any] = version.get("additionalPrinterColumns") or []
    for index, column in enumerate(columns):
        place = f"{field}.additionalPrinterColumns[{index}]"
        causes += [
            errors.required(f"{place}.{name}")
            for name in ("name", "type", "jsonPath")
            if not column.get(name)
        ]
        if column.get("type") not in _COLUMN_TYPES:
            causes.append(errors.not_supported(f"{place}.type", column.get("type"), _COLUMN_TYPES))
        try:
            compile_path(str(column.get("jsonPath", "")))
        except InvalidInput as error:
            causes.append(errors.invalid_value(f"{place}.jsonPath", column.get("jsonPath"), error.message))
    return causes
