"""Is a schema one that a definition may have? Its words here; `shape` asks whether it is structural."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.constants import default_causes
from mco.apiserver.schema.definition import rule_causes, rule_shapes
from mco.apiserver.schema.shape import shape_causes
from mco.apiserver.schema.values import LIST_KEYS, LIST_TYPE

Schema = Mapping[str, Any]

MAP_TYPE = "x-kubernetes-map-type"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_FORBIDDEN = ("definitions", "dependencies", "patternProperties", "additionalItems", "$ref", "id")
_JUNCTORS = ("allOf", "oneOf", "anyOf")
_META = ("apiVersion", "kind", "metadata")


def schema_causes(schema: Schema, field: str) -> list[Cause]:
    """What is wrong with a whole object's schema."""
    if _mentions(schema, "$schema"):
        detail = "OpenAPIV3Schema 'schema' is not supported"
        return [errors.invalid_value(field, "", detail)]
    causes = [*_words(schema, field, root=True), *rule_shapes(schema, field)]
    if schema.get("nullable"):
        causes.append(errors.forbidden_field(f"{field}.nullable", "nullable cannot be true at the root"))
    causes += shape_causes(schema, field)
    return causes or default_causes(schema, field) or rule_causes(schema, field)


def _mentions(schema: Any, word: str) -> bool:
    if not isinstance(schema, Mapping):
        return False
    below = [
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    return bool(schema.get(word)) or any(_mentions(sub, word) for sub in below)


def _words(schema: Schema, field: str, *, root: bool = False, forbidden: str = "") -> Iterator[Cause]:
    """`forbidden`: why there may be no defaults here."""
    yield from _own(schema, field, forbidden)
    extra, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(extra, Mapping):
        yield from _words(extra, f"{field}.additionalProperties", forbidden=forbidden)
    for name, sub in (schema.get("properties") or {}).items():
        inner = f"in top-level {name}" if root and name in _META else forbidden
        yield from _words(sub, f"{field}.properties[{name}]", forbidden=inner)
    if isinstance(schema.get("not"), Mapping):
        yield from _words(schema["not"], f"{field}.not", forbidden=forbidden)
    for word in _JUNCTORS:
        for index, sub in enumerate(schema.get(word) or ()):
            yield from _words(sub, f"{field}.{word}[{index}]", forbidden=forbidden)
    if isinstance(items, Mapping):
        yield from _words(items, f"{field}.items", forbidden=forbidden)


def _own(schema: Schema, field: str, forbidden: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if kind not in (None, "", *_TYPES):
        yield errors.not_supported(f"{field}.type", kind, _TYPES)
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield errors.forbidden_field(f"{field}.type", detail)
    if forbidden and schema.get("default") is not None:
        yield errors.forbidden_field(f"{field}.default", f"must not be set {forbidden}")
    for word in _FORBIDDEN:
        if schema.get(word):
            yield errors.forbidden_field(f"{field}.{word}", f"{word} is not supported")
    if isinstance(schema.get("items"), list):
        detail = "items must be a schema object and not an array"
        yield errors.forbidden_field(f"{field}.items", detail)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield errors.forbidden_field(f"{field}.uniqueItems", detail)
    extra = schema.get("additionalProperties")
    if schema.get("properties") and (extra is False or isinstance(extra, Mapping)):
        detail = "additionalProperties and properties are mutual exclusive"
        yield errors.forbidden_field(f"{field}.additionalProperties", detail)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        place = f"{field}.x-kubernetes-preserve-unknown-fields"
        yield errors.invalid_value(place, False, "must be true or undefined")
    yield from _of_type(schema, field, MAP_TYPE, "object", ("atomic", "granular"))
    yield from _of_type(schema, field, LIST_TYPE, "array", _LIST_TYPES)
    yield from _list(schema, field)


def _of_type(schema: Schema, field: str, word: str, needed: str, allowed: tuple[str, ...]) -> Iterator[Cause]:
    """An extension for values of one type."""
    value, kind = schema.get(word), schema.get("type") or ""
    if value is None:
        return
    detail = f"must be {needed} if {word} is specified"
    if not kind:
        yield errors.required(f"{field}.type", detail)
    elif kind != needed:
        yield errors.invalid_value(f"{field}.type", kind, detail)
    if value not in allowed:
        yield errors.not_supported(f"{field}.{word}", value, allowed)


def _list(schema: Schema, field: str) -> Iterator[Cause]:
    kind, keys, items = schema.get(LIST_TYPE), schema.get(LIST_KEYS), schema.get("items")
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        place = f"{field}.{LIST_TYPE}"
        yield errors.required(place, detail) if kind is None else errors.invalid_value(place, kind, detail)
    if kind == "set" and isinstance(items, Mapping):
        yield from _set_items(items, f"{field}.items")
    if kind == "map":
        if not keys:
            detail = "must not be empty if x-kubernetes-list-type is map"
            yield errors.required(f"{field}.{LIST_KEYS}", detail)
        if not isinstance(items, Mapping):
            detail = "must have a schema if x-kubernetes-list-type is map"
            yield errors.required(f"{field}.items", detail)
        else:
            yield from _map_items(items, keys or [], field)
    if kind in ("set", "map") and isinstance(items, Mapping) and items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield errors.forbidden_field(f"{field}.items.nullable", detail)


def _set_items(items: Schema, field: str) -> Iterator[Cause]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind = items.get(LIST_TYPE)
    if items.get("type") == "array" and kind not in (None, "atomic"):
        yield errors.invalid_value(f"{field}.{LIST_TYPE}", kind, detail)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        # The original prints another field's value here.
        yield errors.invalid_value(f"{field}.{MAP_TYPE}", kind, detail)


def _map_items(items: Schema, keys: list[str], field: str) -> Iterator[Cause]:
    kind = items.get("type") or ""
    if kind != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield errors.invalid_value(f"{field}.items.type", kind, detail)
    properties, required = items.get("properties") or {}, items.get("required") or ()
    for key in keys:
        place = f"{field}.items.properties[{key}]"
        if key not in properties:
            if kind == "object":
                detail = "entries must all be names of item properties"
                yield errors.invalid_value(f"{field}.{LIST_KEYS}", keys, detail)
            continue
        one = properties[key]
        if one.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield errors.invalid_value(f"{place}.type", kind, detail)
        if key not in required and one.get("default") is None:
            detail = "so it must have a default or be a required property"
            yield errors.required(f"{place}.default", f"{_IS_KEY}, {detail}")
        if one.get("nullable"):
            yield errors.forbidden_field(f"{place}.nullable", f"{_IS_KEY}, so it cannot be nullable")
    if len(set(keys)) < len(keys):
        detail = "must not contain duplicate entries"
        yield errors.invalid_value(f"{field}.{LIST_KEYS}", keys, detail)


_IS_KEY = "this property is in x-kubernetes-list-map-keys"
