"""Label selectors in built-in kinds: what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names
from mco.apiserver.strategies.strategy import Obj


def selector_causes(selector: Obj, field: str) -> Iterator[Cause]:
    for key, value in (selector.get("matchLabels") or {}).items():
        problems = [(key, problem) for problem in names.qualified_name_errors(key)]
        problems += [(value, problem) for problem in names.label_value_errors(value)]
        for shown, problem in problems:
            yield errors.invalid_value(f"{field}.matchLabels", shown, problem)
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _expression(expression, f"{field}.matchExpressions[{index}]")


def _expression(expression: Obj, field: str) -> Iterator[Cause]:
    key, operator = expression.get("key", ""), expression.get("operator", "")
    values = expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            yield errors.required(f"{field}.values", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield errors.forbidden_field(f"{field}.values", detail)
    else:
        yield errors.invalid_value(f"{field}.operator", operator, "not a valid selector operator")
    for problem in names.qualified_name_errors(key):
        yield errors.invalid_value(f"{field}.key", key, problem)
    for index, value in enumerate(values):
        for problem in names.label_value_errors(value):
            yield errors.invalid_value(f"{field}.values[{index}]", value, problem)
