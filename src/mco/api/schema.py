"""Words for structural schemas: a schema is built from small calls instead of being written out.

Each function returns one schema node as builtins. `**more` takes any other keyword of OpenAPI in its own
spelling, as `maxLength=253`; `rules` are CEL rules. Values may be marked with feature gates (`api/variants`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mco.api.variants import RULES, Marked
from mco.api.variants import Schema as Schema

Rule = Mapping[str, Any]
_SPELLED = {
    "rules": RULES,
    "embedded": "x-kubernetes-embedded-resource",
    "map_type": "x-kubernetes-map-type",
}


def rule(expression: str, message: str = "", *, optional_old: bool = False) -> Rule:
    """A CEL rule; `optional_old` has it evaluated for a creation too, with an empty `oldSelf`."""
    body: dict[str, Any] = {"message": message} if message else {}
    if optional_old:
        body["optionalOldSelf"] = True
    return {**body, "rule": expression}


def string(**more: Any) -> Schema:
    return _node("string", more)


def boolean(**more: Any) -> Schema:
    return _node("boolean", more)


def int32(**more: Any) -> Schema:
    return _node("integer", {"format": "int32", **more})


def int64(**more: Any) -> Schema:
    return _node("integer", {"format": "int64", **more})


def timestamp(**more: Any) -> Schema:
    return string(format="date-time", **more)


def binary(**more: Any) -> Schema:
    """Bytes as base64 text."""
    return string(format="byte", **more)


def int_or_string(**more: Any) -> Schema:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, **more}


def quantity() -> Schema:
    """A number with a unit of its own grammar, as `10Gi`."""
    number = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    unit = rf"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{number}))"
    return int_or_string(pattern=rf"^(\+|-)?{number}{unit}?$")


def struct(properties: Mapping[str, Schema | Marked], required: Sequence[str] = (), **more: Any) -> Schema:
    """An object with known fields; `required` is listed in alphabetical order."""
    node = _node("object", more)
    if properties:
        node["properties"] = dict(properties)
    if required:
        node["required"] = sorted(required)
    return node


def mapping(values: Schema, **more: Any) -> Schema:
    """An object whose fields all have the same schema."""
    return _node("object", {"additionalProperties": values, **more})


def free(**more: Any) -> Schema:
    """An object of which everything is kept."""
    return _node("object", {"x-kubernetes-preserve-unknown-fields": True, **more})


def atomic(items: Schema, **more: Any) -> Schema:
    """A list that is replaced whole."""
    return _node("array", {"items": items, "x-kubernetes-list-type": "atomic", **more})


def unique(items: Schema, **more: Any) -> Schema:
    """A list of values that occur once."""
    return _node("array", {"items": items, "x-kubernetes-list-type": "set", **more})


def keyed(keys: Sequence[str], items: Schema, **more: Any) -> Schema:
    """A list of objects of which no two have the same keys."""
    words = {"items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return _node("array", {**words, **more})


def enum(*values: str, **more: Any) -> Schema:
    return string(enum=list(values), **more)


def _node(kind: str, more: Mapping[str, Any]) -> Schema:
    return {"type": kind, **{_SPELLED.get(word, word): value for word, value in more.items()}}


def label_selector(*required: str) -> Schema:
    """`required` are fields of an expression that its schema asks for. Definitions do; built-in kinds are
    decoded without, and say what is wrong themselves."""
    expression = struct(
        {"key": string(), "operator": string(), "values": atomic(string())}, required=required
    )
    fields = {"matchExpressions": atomic(expression), "matchLabels": mapping(string())}
    return struct(fields, map_type="atomic")


LABEL_SELECTOR = label_selector("key", "operator")

_REFERENCE_FIELDS = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")
OBJECT_REFERENCE = struct({name: string() for name in _REFERENCE_FIELDS}, map_type="atomic")

CONDITION = struct(
    {
        "lastTransitionTime": timestamp(),
        "message": string(maxLength=32768),
        "observedGeneration": int64(minimum=0),
        "reason": string(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        "status": enum("True", "False", "Unknown"),
        "type": string(
            maxLength=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    },
    required=("lastTransitionTime", "message", "reason", "status", "type"),
)
"""metav1.Condition, as the younger kinds have it."""

LOOSE_CONDITION = struct(
    {
        "lastTransitionTime": timestamp(nullable=True),
        "message": string(),
        "reason": string(),
        "status": string(),
        "type": string(),
    }
)
"""Conditions of the older kinds: nothing is required of them."""
