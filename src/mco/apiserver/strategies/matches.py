"""What is wrong with MatchResources, of a policy or a binding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.strategies.selectors import selector_causes
from mco.apiserver.strategies.strategy import Obj

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")


def match_causes(match: Obj, field: str) -> Iterator[Cause]:
    policy = match.get("matchPolicy")
    if policy is not None and policy not in ("Equivalent", "Exact"):
        yield errors.not_supported(f"{field}.matchPolicy", policy, ("Equivalent", "Exact"))
    for word in ("namespaceSelector", "objectSelector"):
        yield from selector_causes(match.get(word) or {}, f"{field}.{word}")
    for word in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(word) or ()):
            yield from _rule(rule, f"{field}.{word}[{index}]")


def _rule(rule: Obj, place: str) -> Iterator[Cause]:
    for word, nouns in (
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
        ("operations", "operations"),
        ("resources", ""),
    ):
        values: list[Any] = rule.get(word) or []
        if not values:
            yield errors.required(f"{place}.{word}")
        elif nouns and "*" in values and len(values) > 1:
            detail = f"if '*' is present, must not specify other {nouns}"
            yield errors.invalid_value(f"{place}.{word}", values, detail)
    for index, operation in enumerate(rule.get("operations") or ()):
        if operation not in _OPERATIONS:
            yield errors.not_supported(f"{place}.operations[{index}]", operation, _OPERATIONS)
    yield from _resources(rule.get("resources") or [], f"{place}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in ("*", "Cluster", "Namespaced"):
        yield errors.not_supported(f"{place}.scope", scope, ("*", "Cluster", "Namespaced"))


def _resources(values: list[str], place: str) -> Iterator[Cause]:
    if "*/*" in values and len(values) > 1:
        detail = "if '*/*' is present, must not specify other resources"
        yield errors.invalid_value(place, values, detail)
    elif "*" in values and any("/" not in value for value in values if value != "*"):
        detail = "if '*' is present, must not specify other resources without subresources"
        yield errors.invalid_value(place, values, detail)
    for index, value in enumerate(values):
        if not value:
            yield errors.required(f"{place}[{index}]")
