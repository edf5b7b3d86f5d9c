"""Validation of values by a structural schema, with the messages of the real API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.formats import check_of
from mco.apiserver.schema.patterns import compile_pattern

Schema = Mapping[str, Any]
Check = Callable[[Any, str, list[Cause], Any], None]
"""Value, path, where to say what is wrong, what the value was (`ABSENT`: nothing to compare with)."""
Own = Callable[[Any, str, list[Cause]], None]

INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class _Absent:
    """No value, which null is one."""


ABSENT = _Absent()


def compile_values(schema: Schema, *, whole: bool = False) -> Check:
    """A function that appends what is wrong with a value at a path. What was wrong before and did not change
    passes (ratcheting)."""
    checks = [*_own(schema), *_combined(schema)]
    container = _container(schema, whole=whole or bool(schema.get(EMBEDDED)))
    kind = "" if schema.get(INT_OR_STRING) else schema.get("type", "")
    nullable = bool(schema.get("nullable"))

    def check(value: Any, path: str, causes: list[Cause], old: Any) -> None:
        if (value is None and nullable) or (old is not ABSENT and unchanged(value, old)):
            return
        if kind and not _is(kind, value):
            causes.append(_type_cause(kind, value, path))
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


def type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is(kind: str, value: Any) -> bool:
    actual = type_name(value)
    if kind == "number":
        return actual in ("number", "integer")
    if kind == "integer" and actual == "number":
        return float(value).is_integer()
    return actual == kind


def _type_cause(kind: str, value: Any, path: str) -> Cause:
    actual = type_name(value)
    return errors.wrong_type(path, actual, f'{path} in body must be of type {kind}: "{actual}"')


def _own(schema: Schema) -> list[Own]:
    """The checks of a value by itself, in the order in which the real server reports them."""
    checks: list[Own] = []
    if schema.get(INT_OR_STRING):
        checks.append(_int_or_string)
    checks += _string_checks(schema) + _number_checks(schema) + _size_checks(schema)
    if "enum" in schema:
        checks.append(_enum(schema["enum"]))
    return checks


def _int_or_string(value: Any, path: str, causes: list[Cause]) -> None:
    if not (_is("integer", value) or isinstance(value, str)):
        causes.append(_type_cause("integer,string", value, path))


def _enum(allowed: list[Any]) -> Own:
    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if value not in allowed:
            causes.append(errors.not_supported(path, value, allowed))

    return check


def _string_checks(schema: Schema) -> list[Own]:
    checks: list[Own] = []
    shortest, longest, text = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    form = schema.get("format", "")

    def lengths(value: Any, path: str, causes: list[Cause]) -> None:
        if not isinstance(value, str):
            return
        if longest is not None and len(value) > longest:
            causes.append(errors.too_long(path, longest))
        if shortest is not None and len(value) < shortest:
            detail = f"{path} in body should be at least {shortest} chars long"
            causes.append(errors.invalid_value(path, value, detail))

    if shortest is not None or longest is not None:
        checks.append(lengths)
    if text is not None:
        checks.append(_pattern(text))
    if (holds := check_of(form)) is not None:
        checks.append(_format(form, holds))
    return checks


def _pattern(text: str) -> Own:
    search = compile_pattern(text).search

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if isinstance(value, str) and not search(value):
            causes.append(errors.invalid_value(path, value, f"{path} in body should match '{text}'"))

    return check


def _format(form: str, holds: Callable[[str], bool]) -> Own:
    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if isinstance(value, str) and not holds(value):
            detail = f"{path} in body must be of type {form}: {errors.value_text(value)}"
            causes.append(errors.invalid_value(path, value, detail))

    return check


def _number_checks(schema: Schema) -> list[Own]:
    lowest, highest, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    above, below = bool(schema.get("exclusiveMinimum")), bool(schema.get("exclusiveMaximum"))
    bounds = _BOUNDS.get(schema.get("format", "")) if schema.get("type") == "integer" else None
    if lowest is None and highest is None and step is None and bounds is None:
        return []

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        problem = ""
        if highest is not None and (value > highest or (below and value == highest)):
            problem = f"should be less than {'' if below else 'or equal to '}{highest}"
        elif lowest is not None and (value < lowest or (above and value == lowest)):
            problem = f"should be greater than {'' if above else 'or equal to '}{lowest}"
        elif step is not None and value % step:
            problem = f"should be a multiple of {step}"
        elif bounds is not None and not bounds[0] <= value <= bounds[1]:
            problem = f"must be of type {schema['format']}"
        if problem:
            causes.append(errors.invalid_value(path, value, f"{path} in body {problem}"))

    return [check]


def _size_checks(schema: Schema) -> list[Own]:
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    narrow, wide = schema.get("minProperties"), schema.get("maxProperties")

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if isinstance(value, list):
            least, limit, noun = fewest, most, "items"
        elif isinstance(value, dict):
            least, limit, noun = narrow, wide, "properties"
        else:
            return
        if limit is not None and len(value) > limit:
            causes.append(errors.too_many(path, len(value), limit))
        if least is not None and len(value) < least:
            detail = f"{path} in body should have at least {least} {noun}"
            causes.append(errors.invalid_value(path, len(value), detail))

    return [] if (fewest, most, narrow, wide) == (None, None, None, None) else [check]


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
        for name in needed:
            if name not in value:
                causes.append(errors.required(_join(path, name)))
        for name, entry in value.items():
            below = known.get(name, rest)
            if below is not None and not (whole and name in _OBJECT_FIELDS):
                below(entry, _join(path, name), causes, before.get(name, ABSENT))

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
    checks: list[Own] = [_without_old(compile_values(sub)) for sub in schema.get("allOf") or ()]
    texts = {
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": "must validate one and only one schema (oneOf)",
        "not": "must not validate the schema (not)",
    }
    for word, text in texts.items():
        if schema.get(word):
            branches = [schema[word]] if word == "not" else schema[word]
            checks.append(_branches(word, text, [_without_old(compile_values(b)) for b in branches]))
    return checks


def _without_old(check: Check) -> Own:
    return lambda value, path, causes: check(value, path, causes, ABSENT)


def _branches(word: str, text: str, branches: list[Own]) -> Own:
    def passes(branch: Own, value: Any) -> bool:
        found: list[Cause] = []
        branch(value, "", found)
        return not found

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        count = sum(passes(branch, value) for branch in branches)
        if {"anyOf": count > 0, "oneOf": count == 1, "not": count == 0}[word]:
            return
        # The real server prints no offending value here.
        causes.append(Cause("FieldValueInvalid", f'Invalid value: "": {path} in body {text}', path))

    return check


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
