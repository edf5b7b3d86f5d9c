"""PodDisruptionBudgets: a number or a percentage of pods that must stay, or may go."""

from __future__ import annotations

import re
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names, schemas
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer

_PERCENT = re.compile(r"[0-9]+%\Z")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
    "used for validation is '[0-9]+%')"
)
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class BudgetStrategy(Strategy):
    schema = schemas.BUDGET
    has_status = True
    counts = True
    unconditional = False

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        if old is None:
            new["status"] = dict.fromkeys(sorted(_COUNTS), 0)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec, status = new.get("spec") or {}, new.get("status") or {}
        causes = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            detail = "minAvailable and maxUnavailable cannot be both set"
            causes.append(errors.invalid_value("spec", spec, detail))
        for field in ("minAvailable", "maxUnavailable"):
            if field in spec:
                causes += _amount(f"spec.{field}", spec[field])
        causes += _selector(spec.get("selector") or {}, "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _POLICIES:
            causes.append(errors.not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
        return causes + [
            errors.invalid_value(f"status.{field}", status[field], _NEGATIVE)
            for field in _COUNTS
            if status.get(field, 0) < 0
        ]


_NEGATIVE = "must be greater than or equal to 0"


def _amount(field: str, value: Any) -> list[Cause]:
    if isinstance(value, int):
        return [] if value >= 0 else [errors.invalid_value(field, value, _NEGATIVE)]
    if not _PERCENT.match(value):
        return [errors.invalid_value(field, value, _PERCENT_RULE)]
    if int(value[:-1]) > 100:
        return [errors.invalid_value(field, value, "must not be greater than 100%")]
    return []


def _selector(selector: Obj, field: str) -> list[Cause]:
    causes = []
    for key, value in (selector.get("matchLabels") or {}).items():
        below = f"{field}.matchLabels"
        causes += [errors.invalid_value(below, key, text) for text in names.qualified_name_errors(key)]
        causes += [errors.invalid_value(below, value, text) for text in names.label_value_errors(value)]
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        causes += _expression(expression, f"{field}.matchExpressions[{index}]")
    return causes


def _expression(expression: Obj, field: str) -> list[Cause]:
    operator, values = expression["operator"], expression.get("values") or ()
    causes = []
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            causes.append(errors.required(f"{field}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(errors.forbidden_field(f"{field}.values", detail))
    else:
        causes.append(errors.invalid_value(f"{field}.operator", operator, "not a valid selector operator"))
    key = expression["key"]
    causes += [errors.invalid_value(f"{field}.key", key, text) for text in names.qualified_name_errors(key)]
    return causes + [
        errors.invalid_value(f"{field}.values[{index}]", value, text)
        for index, value in enumerate(values)
        for text in names.label_value_errors(value)
    ]
