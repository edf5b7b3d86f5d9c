"""What the words of a schema demand of a value by itself: its type, bounds, pattern, format, alternatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.formats import check_of
from mco.apiserver.schema.patterns import compile_pattern

Schema = Mapping[str, Any]
Own = Callable[[Any, str, list[Cause]], None]
"""Value, path, where to say what is wrong."""

INT_OR_STRING = "x-kubernetes-int-or-string"
_BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def own_checks(schema: Schema) -> list[Own]:
    """The checks of a value by itself, in the order in which the real server reports them."""
    checks: list[Own] = []
    if schema.get(INT_OR_STRING):
        checks.append(_int_or_string)
    checks += _string_checks(schema) + _number_checks(schema) + _size_checks(schema)
    if "enum" in schema:
        checks.append(alternatives(schema["enum"]))
    return checks


def _int_or_string(value: Any, path: str, causes: list[Cause]) -> None:
    if not (is_of("integer", value) or isinstance(value, str)):
        causes.append(type_cause("integer,string", value, path))


def alternatives(allowed: list[Any]) -> Own:
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
            causes.append(nowhere(detail))
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


def is_of(kind: str, value: Any) -> bool:
    actual = type_name(value)
    if kind == "number":
        return actual in ("number", "integer")
    if kind == "integer" and actual == "number":
        return float(value).is_integer()
    return actual == kind


def type_cause(kind: str, value: Any, path: str) -> Cause:
    actual = type_name(value)
    return errors.wrong_type(path, actual, f'{path} in body must be of type {kind}: "{actual}"')


def nowhere(detail: str) -> Cause:
    """The original tells neither place nor value here, but in the text."""
    return Cause("FieldValueInvalid", f'Invalid value: "": {detail}', "<nil>")
