"""Is a schema structural, and can all of it be enforced?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.definition import rule_causes
from mco.apiserver.schema.patterns import compile_pattern

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_FORBIDDEN = ("definitions", "dependencies", "patternProperties", "additionalItems", "$ref", "$schema", "id")


def schema_causes(schema: Mapping[str, Any], field: str) -> list[Cause]:
    """What is wrong with a whole object's schema."""
    causes: list[Cause] = []
    if schema.get("type") != "object":
        detail = "must be object at the root"
        causes.append(errors.invalid_value(f"{field}.type", schema.get("type"), detail))
    _check(schema, field, causes)
    return causes or rule_causes(schema, field)


def _check(schema: Any, field: str, causes: list[Cause]) -> None:
    if not isinstance(schema, Mapping):
        causes.append(errors.invalid_value(field, schema, "must be an object"))
        return
    _check_type(schema, field, causes)
    for word in _FORBIDDEN:
        if word in schema:
            causes.append(errors.forbidden_field(f"{field}.{word}", f"{word} is not supported"))
    _check_pattern(schema, field, causes)
    _check_list(schema, field, causes)
    for name, sub in (schema.get("properties") or {}).items():
        _check(sub, f"{field}.properties[{name}]", causes)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), Mapping):
            _check(schema[word], f"{field}.{word}", causes)
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), Mapping):
        detail = "additionalProperties and properties are mutual exclusive"
        causes.append(errors.forbidden_field(f"{field}.additionalProperties", detail))


def _check_type(schema: Mapping[str, Any], field: str, causes: list[Cause]) -> None:
    kind = schema.get("type")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if kind is None or kind == "":
        if not free:
            causes.append(errors.required(f"{field}.type", "must not be empty for specified object fields"))
    elif kind not in _TYPES:
        causes.append(errors.not_supported(f"{field}.type", kind, _TYPES))


def _check_pattern(schema: Mapping[str, Any], field: str, causes: list[Cause]) -> None:
    if "pattern" not in schema:
        return
    try:
        compile_pattern(str(schema["pattern"]))
    except re.error as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        causes.append(errors.invalid_value(f"{field}.pattern", schema["pattern"], detail))


def _check_list(schema: Mapping[str, Any], field: str, causes: list[Cause]) -> None:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if schema.get("type") == "array" and not isinstance(schema.get("items"), Mapping):
        causes.append(errors.required(f"{field}.items", "must be specified"))
    if kind is not None and kind not in _LIST_TYPES:
        causes.append(errors.not_supported(f"{field}.x-kubernetes-list-type", kind, _LIST_TYPES))
    if kind == "map" and not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        causes.append(errors.required(f"{field}.x-kubernetes-list-map-keys", detail))
