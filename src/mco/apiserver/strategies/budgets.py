"""PodDisruptionBudgets: a number or a percentage of pods that must stay, or may go."""

from __future__ import annotations

import re
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import schemas
from mco.apiserver.strategies.selectors import selector_causes
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
        causes += selector_causes(spec.get("selector") or {}, "spec.selector")
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
    if percentage(value) > 100:
        return [errors.invalid_value(field, value, "must not be greater than 100%")]
    return []


def percentage(text: str) -> int:
    """Of a text that is one; 101 for more. It may have thousands of digits, which `int` refuses to read."""
    digits = text.removesuffix("%").lstrip("0")
    return 101 if len(digits) > 3 else min(int(digits or "0"), 101)
