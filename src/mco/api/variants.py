"""One schema for each set of feature gates, out of a schema with marks (spec/controllerconfig.md 3).

A marked schema is a schema in which a value may be `Marked`: it stands only in the partial schema of one
gate, or, without a gate, in the base. Where a keyword differs between them, its value is a tuple of marked
ones. The partial schemas of the wanted gates are laid over the base in alphabetical order: properties are
merged by name, of every other keyword the last one counts. That is how the original makes its manifests,
oddities included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

Schema = dict[str, Any]

RULES = "x-kubernetes-validations"
BELOW = ("items", "additionalProperties")


class Marked(msgspec.Struct, frozen=True):
    """`gate` is empty for what only stands in the schema that has no gate on."""

    value: Any
    gate: str = ""


def gated(gate: str, value: Any) -> Marked:
    return Marked(value, gate)


def base(value: Any) -> Marked:
    return Marked(value)


def gates_of(schema: Any) -> frozenset[str]:
    """The gates that a marked schema names."""
    return frozenset(_gates(schema))


def resolve(schema: Schema, gates: Collection[str]) -> Schema:
    """The plain schema with these gates on; gates that it does not name change nothing."""
    result = _partial(schema, "")
    for gate in sorted(gates_of(schema) & set(gates)):
        result = _overlay(result, _partial(schema, gate))
    return result


def _gates(value: Any) -> Iterator[str]:
    if isinstance(value, Marked):
        if value.gate:
            yield value.gate
        yield from _gates(value.value)
    elif isinstance(value, Mapping):
        for sub in value.values():
            yield from _gates(sub)
    elif isinstance(value, list | tuple):
        for sub in value:
            yield from _gates(sub)


def _partial(schema: Schema, gate: str) -> Schema:
    result: Schema = {}
    for word, value in schema.items():
        for chosen in _chosen(value, gate):
            result[word] = _word(word, chosen, gate)
    if not result.get(RULES, True):
        del result[RULES]
    if "required" in result:
        result["required"] = [name for name in result["required"] if name in result["properties"]]
        if not result["required"]:
            del result["required"]
    return result


def _word(word: str, value: Any, gate: str) -> Any:
    if word == "properties":
        return {name: _partial(sub, gate) for name, part in value.items() for sub in _chosen(part, gate)}
    if word in BELOW and isinstance(value, dict):
        return _partial(value, gate)
    if word == RULES:
        return [rule for part in value for rule in _chosen(part, gate)]
    return value


def _chosen(value: Any, gate: str) -> Iterator[Any]:
    """The value in the partial schema of that gate, if it stands there at all."""
    if isinstance(value, tuple):
        for part in value:
            yield from _chosen(part, gate)
    elif not isinstance(value, Marked):
        yield value
    elif value.gate == gate:
        yield value.value


def _overlay(under: Schema, over: Schema) -> Schema:
    result = {**under, **over}
    if "properties" in under and "properties" in over:
        below, above = under["properties"], over["properties"]
        result["properties"] = {
            name: _overlay(below[name], above[name])
            if name in below and name in above
            else (above.get(name) or below[name])
            for name in {**below, **above}
        }
    for word in BELOW:
        if isinstance(under.get(word), dict) and isinstance(over.get(word), dict):
            result[word] = _overlay(under[word], over[word])
    return result
