"""Is a schema structural: types where values are declared, nothing declared where they are only judged?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.bounds import INT_OR_STRING
from mco.apiserver.schema.patterns import compile_pattern
from mco.apiserver.schema.values import EMBEDDED

Schema = Mapping[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_DECLARING = (
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    (_PRESERVE, "false"),
    (EMBEDDED, "false"),
    (INT_OR_STRING, "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
)
"""Words that declare something, and what they must be where values are only judged."""


def shape_causes(schema: Schema, field: str) -> Iterator[Cause]:
    yield from _declared(schema, field, "root")
    yield from _complete(schema, schema, field, field)


def _declared(schema: Schema, field: str, level: str) -> Iterator[Cause]:
    """`level`: what the schema is of (`_UNTYPED`)."""
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        yield errors.required(f"{field}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _declared(items, f"{field}.items", "item")
    for name, sub in (schema.get("properties") or {}).items():
        yield from _declared(sub, f"{field}.properties[{name}]", "field")
    if extra is not None and level == "root":
        yield errors.forbidden_field(f"{field}.additionalProperties", "must not be used at the root")
    if isinstance(extra, Mapping):
        yield from _declared(extra, f"{field}.additionalProperties", "field")
    yield from _extensions(schema, field)
    yield from _judged(schema, field)
    yield from _type(schema, field, level)
    yield from _object_fields(schema, field, level)


def _extensions(schema: Schema, field: str) -> Iterator[Cause]:
    for word in (_PRESERVE, EMBEDDED):
        if schema.get(INT_OR_STRING) and schema.get(word):
            detail = "must be false if x-kubernetes-int-or-string is true"
            yield errors.invalid_value(f"{field}.{word}", True, detail)


def _type(schema: Schema, field: str, level: str) -> Iterator[Cause]:
    kind, embedded = schema.get("type") or "", schema.get(EMBEDDED)
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        place = f"{field}.type"
        yield errors.invalid_value(place, kind, detail) if kind else errors.required(place, detail)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(_PRESERVE):
        yield errors.required(f"{field}.type", _UNTYPED[level])
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield errors.forbidden_field(f"{field}.additionalProperties", detail)
    if level == "root" and kind not in ("", "object"):
        yield errors.invalid_value(f"{field}.type", kind, "must be object at the root")


def _object_fields(schema: Schema, field: str, level: str) -> Iterator[Cause]:
    """Of apiVersion, kind and metadata little can be said."""
    properties = schema.get("properties") or {}
    if level == "root" or schema.get(EMBEDDED):
        for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            given = (properties.get(name) or {}).get("type") or ""
            if name in properties and given != kind:
                place = f"{field}.properties[{name}].type"
                yield errors.invalid_value(place, given, f"must be {kind}")
    if level == "root" and "metadata" in properties and _says_more(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly"
        yield errors.forbidden_field(f"{field}.properties[metadata]", f"{detail} specified")
    if schema.get(EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve"
        yield errors.required(f"{field}.properties", f"{detail}-unknown-fields")


def _says_more(metadata: Schema) -> bool:
    known = set(metadata.get("properties") or {}) <= {"name", "generateName"}
    rest = {
        word for word, value in metadata.items() if word not in ("type", "default", "properties") and value
    }
    return not known or bool(rest)


def _judged(schema: Schema, field: str) -> Iterator[Cause]:
    """allOf, anyOf, oneOf, not; and patterns."""
    whole = schema.get("allOf") or []
    either = schema.get("anyOf") or []
    for index, sub in enumerate([] if either == _EITHER else either):
        yield from _nested(sub, f"{field}.anyOf[{index}]")
    for index, sub in enumerate(whole):
        is_either = index == 0 and sub.get("anyOf") == _EITHER
        shown = {word: value for word, value in sub.items() if word != "anyOf"} if is_either else sub
        yield from _nested(shown, f"{field}.allOf[{index}]")
    for index, sub in enumerate(schema.get("oneOf") or ()):
        yield from _nested(sub, f"{field}.oneOf[{index}]")
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], f"{field}.not")
    if pattern := schema.get("pattern"):
        try:
            compile_pattern(pattern)
        except re.error as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield errors.invalid_value(f"{field}.pattern", pattern, detail)


def _nested(schema: Schema, field: str) -> Iterator[Cause]:
    yield from _judged(schema, field)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{field}.items")
    for name, sub in (schema.get("properties") or {}).items():
        yield from _nested(sub, f"{field}.properties[{name}]")
    for word, needed in _DECLARING:
        if schema.get(word):
            yield errors.forbidden_field(f"{field}.{word}", f"must be {needed} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        place = f"{field}.properties[metadata]"
        yield errors.forbidden_field(place, "must not be specified in a nested context")


def _complete(judged: Schema, declared: Any, place: str, field: str) -> Iterator[Cause]:
    """What the root judges has to be declared. `place` is of the declaration, `field` of the judgement."""
    for word in ("allOf", "anyOf", "oneOf"):
        for index, sub in enumerate(judged.get(word) or ()):
            yield from _covered(sub, declared, place, f"{field}.{word}[{index}]")
    if isinstance(judged.get("not"), Mapping):
        yield from _covered(judged["not"], declared, place, f"{field}.not")


def _covered(judged: Schema, declared: Any, place: str, field: str) -> Iterator[Cause]:
    if not isinstance(declared, Mapping):
        yield errors.required(place, f"because it is defined in {field}")
        return
    yield from _complete(judged, declared, place, field)
    if isinstance(judged.get("items"), Mapping):
        yield from _covered(judged["items"], declared.get("items"), f"{place}.items", f"{field}.items")
    known, extra = declared.get("properties") or {}, declared.get("additionalProperties")
    for name, sub in (judged.get("properties") or {}).items():
        below, inner = known.get(name), f"{place}.properties[{name}]"
        if below is None and isinstance(extra, Mapping):
            below, inner = extra, f"{place}.additionalProperties"
        yield from _covered(sub, below, inner, f"{field}.properties[{name}]")
