"""Validation of values by a structural schema, with the messages of the real API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.bounds import (
    INT_OR_STRING,
    Own,
    alternatives,
    is_of,
    nowhere,
    own_checks,
    type_cause,
)

Schema = Mapping[str, Any]
Check = Callable[[Any, str, list[Cause], Any], None]
"""Value, path, where to say what is wrong, what the value was (`ABSENT`: nothing to compare with)."""

EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class _Absent:
    """No value at all; null would be one."""


ABSENT = _Absent()


def compile_values(schema: Schema, *, whole: bool = False) -> Check:
    """A function that appends what is wrong with a value at a path. What was wrong before and did not change
    passes (ratcheting)."""
    checks = [*own_checks(schema), *_combined(schema)]
    container = _container(schema, whole=whole or bool(schema.get(EMBEDDED)))
    kind = "" if schema.get(INT_OR_STRING) else schema.get("type", "")
    nullable = bool(schema.get("nullable"))

    allowed = alternatives(schema["enum"]) if "enum" in schema else None

    def check(value: Any, path: str, causes: list[Cause], old: Any) -> None:
        if old is not ABSENT and unchanged(value, old):
            return
        is_null = value is None and nullable
        if is_null or (kind and not is_of(kind, value)):
            if not is_null:
                causes.append(type_cause(kind, value, path))
            if allowed is not None:
                allowed(value, path, causes)
            return
        for own in checks:
            own(value, path, causes)
        if container is not None:
            container(value, path, causes, old)

    return check


def unchanged(value: Any, old: Any) -> bool:
    """Equal as JSON: a number is no truth value, whatever Python says."""
    return bool(value == old) and _alike(value, old)


def _alike(value: Any, old: Any) -> bool:
    if isinstance(value, dict):
        return all(_alike(entry, old[name]) for name, entry in value.items())
    if isinstance(value, list):
        return all(_alike(entry, other) for entry, other in zip(value, old, strict=True))
    return isinstance(value, bool) == isinstance(old, bool)


def _container(schema: Schema, *, whole: bool) -> Check | None:
    """The check of what is inside of an object or an array, None for a scalar."""
    items = schema.get("items")
    if isinstance(items, Mapping):
        return _array(schema, compile_values(items))
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    needed = [name for name in schema.get("required") or () if not (whole and name in _OBJECT_FIELDS)]
    if not properties and not isinstance(extra, Mapping) and not needed:
        return None
    known = {
        name: compile_values(sub)
        for name, sub in properties.items()
        if not (whole and name in _OBJECT_FIELDS)
    }
    rest = compile_values(extra) if isinstance(extra, Mapping) else None

    def check(value: Any, path: str, causes: list[Cause], old: Any) -> None:
        if not isinstance(value, dict):
            return
        before = old if isinstance(old, dict) else {}
        for name, entry in value.items():
            below = known.get(name, rest)
            if below is not None and not (whole and name in _OBJECT_FIELDS):
                below(entry, _join(path, name), causes, before.get(name, ABSENT))
        for name in needed:
            if name not in value:
                causes.append(errors.required(_join(path, name)))

    return check


def _array(schema: Schema, item: Check) -> Check:
    identity = identity_of(schema) if schema.get(LIST_TYPE) == "map" else None
    unique = bool(schema.get("uniqueItems"))

    def check(value: Any, path: str, causes: list[Cause], old: Any) -> None:
        if not isinstance(value, list):
            return
        before = {}
        if identity is not None and isinstance(old, list):
            before = {identity(entry)[0]: entry for entry in old}
        for index, entry in enumerate(value):
            was = before.get(identity(entry)[0], ABSENT) if before and identity is not None else ABSENT
            item(entry, f"{path}[{index}]", causes, was)
        if unique and len({msgspec.json.encode(entry, order="sorted") for entry in value}) < len(value):
            detail = f"{path} in body shouldn't contain duplicates"
            causes.append(errors.invalid_value(path, value, detail))

    return check


def identity_of(schema: Schema) -> Callable[[Any], tuple[bytes, Any]]:
    """What tells the elements of a set or a keyed list apart, as bytes and as it is printed."""
    keys = tuple(schema.get(LIST_KEYS) or ()) if schema.get(LIST_TYPE) == "map" else ()
    properties = schema["items"].get("properties") or {}
    defaults = {key: (properties.get(key) or {}).get("default") for key in keys}

    def identity(entry: Any) -> tuple[bytes, Any]:
        shown = {key: entry.get(key, defaults[key]) for key in keys} if isinstance(entry, dict) else entry
        if isinstance(entry, dict) and not keys:
            shown = entry
        return msgspec.json.encode(shown, order="sorted"), shown

    return identity


def _combined(schema: Schema) -> list[Own]:
    """allOf, anyOf, oneOf and not: only the values count, they declare no fields."""
    checks: list[Own] = []
    for word, judge in (("anyOf", _any_of), ("oneOf", _one_of), ("allOf", _all_of)):
        if schema.get(word):
            branches = [compile_values(branch) for branch in schema[word]]
            checks.append(_branches(branches, judge))
    if schema.get("not"):
        checks.append(_branches([compile_values(schema["not"])], _not))
    return checks


Judge = Callable[[list[list[Cause]]], tuple[str, list[Cause]]]
"""From what each branch finds wrong to what is said of all, and which causes are told with it."""


def _any_of(found: list[list[Cause]]) -> tuple[str, list[Cause]]:
    return ("", []) if [] in found else ("must validate at least one schema (anyOf)", found[0])


def _one_of(found: list[list[Cause]]) -> tuple[str, list[Cause]]:
    count = found.count([])
    if count == 1:
        return "", []
    text = "must validate one and only one schema (oneOf). Found "
    return (f"{text}{count} valid alternatives", []) if count else (f"{text}none valid", found[0])


def _all_of(found: list[list[Cause]]) -> tuple[str, list[Cause]]:
    causes = [cause for each in found for cause in each]
    if not causes:
        return "", []
    return f"must validate all the schemas (allOf){'' if [] in found else '. None validated'}", causes


def _not(found: list[list[Cause]]) -> tuple[str, list[Cause]]:
    return ("", []) if found[0] else ("must not validate the schema (not)", [])


def _branches(branches: list[Check], judge: Judge) -> Own:
    def check(value: Any, path: str, causes: list[Cause]) -> None:
        found: list[list[Cause]] = []
        for branch in branches:
            found.append([])
            branch(value, path, found[-1], ABSENT)
        text, told = judge(found)
        if text:
            whole = nowhere(f'"{path}" {text}')
            causes.extend([*told, whole] if judge is _all_of else [whole, *told])

    return check


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
