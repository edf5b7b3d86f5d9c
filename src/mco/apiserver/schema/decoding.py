"""Has each word of a schema a value of its type? If not, there is not even a schema to complain of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mco.apiserver.schema.bounds import type_name

_GO = {
    "string": ("type", "format", "title", "description", "pattern", "$ref", "id"),
    "float64": ("minimum", "maximum", "multipleOf"),
    "int64": ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    "bool": (
        *("exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "nullable"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        "x-kubernetes-int-or-string",
    ),
}
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_CONTAINERS: tuple[tuple[tuple[str, ...], type, str], ...] = (
    (_JUNCTORS, list, "[]v1.JSONSchemaProps"),
    (("properties",), dict, "map[string]v1.JSONSchemaProps"),
    (("x-kubernetes-validations",), list, "v1.ValidationRules"),
    (("required", "x-kubernetes-list-map-keys"), list, "[]string"),
    (("enum",), list, "[]v1.JSON"),
)
_TYPES = {word: kind for kind, words in _GO.items() for word in words}
_JSON = {"string": "string", "float64": "number", "int64": "integer", "bool": "boolean"}
_SHOWN = {"boolean": "bool", "integer": "number"}


def undecodable(schema: Any, path: str) -> Iterator[str]:
    """What the original's decoder says; `path` are the names of the fields down to the schema."""
    if not isinstance(schema, Mapping):
        return
    for word, value in schema.items():
        wanted = _TYPES.get(word)
        if wanted and value is not None and not _fits(_JSON[wanted], type_name(value)):
            yield _text(value, f"{path}.{word}", wanted)
    broken = [
        (word, wanted)
        for words, kind, wanted in _CONTAINERS
        for word in words
        if schema.get(word) is not None and not isinstance(schema[word], kind)
    ]
    if broken:
        yield from (_text(schema[word], f"{path}.{word}", wanted) for word, wanted in broken)
        return
    for rule in schema.get("x-kubernetes-validations") or ():
        if not isinstance(rule, Mapping):
            yield _text(rule, f"{path}.x-kubernetes-validations", "v1.ValidationRule")
    for sub in (schema.get("properties") or {}).values():
        yield from _schema(sub, f"{path}.properties")
    for word in ("items", "additionalProperties", "not"):
        yield from undecodable(schema.get(word), f"{path}.{word}")
    for word in _JUNCTORS:
        for sub in schema.get(word) or ():
            yield from _schema(sub, f"{path}.{word}")


def _schema(value: Any, path: str) -> Iterator[str]:
    """Of what can be nothing else."""
    if value is not None and not isinstance(value, Mapping):
        yield _text(value, path, "v1.JSONSchemaProps")
    yield from undecodable(value, path)


def _fits(wanted: str, actual: str) -> bool:
    return actual == wanted or (wanted == "number" and actual == "integer")


def _text(value: Any, path: str, wanted: str) -> str:
    kind = type_name(value)
    return (
        f"json: cannot unmarshal {_SHOWN.get(kind, kind)} into Go struct field JSONSchemaProps.{path} "
        f"of type {wanted}"
    )
