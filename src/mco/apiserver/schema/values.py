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

    allowed = _enum(schema["enum"]) if "enum" in schema else None

    def check(value: Any, path: str, causes: list[Cause], old: Any) -> None:
        if old is not ABSENT and unchanged(value, old):
            return
        is_null = value is None and nullable
        if is_null or (kind and not _is(kind, value)):
            if not is_null:
                causes.append(_type_cause(kind, value, path))
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
            causes.append(errors.not_supported(path, value, [_shown(each) for each in allowed]))

    return check


def _shown(value: Any) -> str:
    """In the list of what is allowed all values are texts."""
    return value if isinstance(value, str) else errors.value_text(value)


def _string_checks(schema: Schema) -> list[Own]:
    shortest, longest, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    occurs = compile_pattern(pattern).occurs_in if pattern is not None else None
    form = schema.get("format", "")
    holds = check_of(form)

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        """The first of length and pattern counts."""
        if not isinstance(value, str):
            return
        if longest is not None and len(value) > longest:
            causes.append(errors.too_long(path, longest))
        elif shortest is not None and len(value) < shortest:
            detail = f"{path} in body should be at least {shortest} chars long"
            causes.append(errors.invalid_value(path, value, detail))
        elif occurs is not None and not occurs(value):
            causes.append(errors.invalid_value(path, value, f"{path} in body should match '{pattern}'"))
        if holds is not None and not holds(value):
            detail = f"{path} in body must be of type {form}: {errors.value_text(value)}"
            causes.append(errors.wrong_type(path, value, detail))

    is_free = (shortest, longest, occurs, holds) == (None, None, None, None)
    return [] if is_free else [check]


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
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            detail = f"Checked value must be of type integer with format {schema['format']} in {path}"
            causes.append(_nowhere(detail))
            return
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
            whole = _nowhere(f'"{path}" {text}')
            causes.extend([*told, whole] if judge is _all_of else [whole, *told])

    return check


def _nowhere(detail: str) -> Cause:
    """The original tells neither place nor value here, but in the text."""
    return Cause("FieldValueInvalid", f'Invalid value: "": {detail}', "<nil>")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
