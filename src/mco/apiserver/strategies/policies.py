"""ValidatingAdmissionPolicies and their bindings: checked and compiled when they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mco.api.schema import Schema, atomic, free, int64, mapping, string, struct, timestamp
from mco.apiserver import errors
from mco.apiserver.admission.policy import compile_policy
from mco.apiserver.cel.environment import CompileError, Program
from mco.apiserver.errors import Cause
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer

_STRINGS = atomic(string())
_EXPRESSION = {"name": string(), "expression": string()}
_SELECTOR = struct(
    {
        "matchLabels": mapping(string()),
        "matchExpressions": atomic(struct({"key": string(), "operator": string(), "values": _STRINGS})),
    }
)
_RULES = atomic(
    struct(
        {
            "apiGroups": _STRINGS,
            "apiVersions": _STRINGS,
            "operations": _STRINGS,
            "resourceNames": _STRINGS,
            "resources": _STRINGS,
            "scope": string(),
        }
    )
)
_MATCH = struct(
    {
        "excludeResourceRules": _RULES,
        "matchPolicy": string(),
        "namespaceSelector": _SELECTOR,
        "objectSelector": _SELECTOR,
        "resourceRules": _RULES,
    }
)
_POLICY: Schema = struct(
    {
        "spec": struct(
            {
                "auditAnnotations": atomic(struct({"key": string(), "valueExpression": string()})),
                "failurePolicy": string(),
                "matchConditions": atomic(struct(_EXPRESSION)),
                "matchConstraints": _MATCH,
                "paramKind": struct({"apiVersion": string(), "kind": string()}),
                "validations": atomic(
                    struct(
                        {
                            "expression": string(),
                            "message": string(),
                            "messageExpression": string(),
                            "reason": string(),
                        }
                    )
                ),
                "variables": atomic(struct(_EXPRESSION)),
            }
        ),
        "status": struct(
            {
                "conditions": atomic(free(properties={"type": string(), "lastTransitionTime": timestamp()})),
                "observedGeneration": int64(),
                "typeChecking": free(properties={"expressionWarnings": atomic(free())}),
            }
        ),
    }
)
_BINDING: Schema = struct(
    {
        "spec": struct(
            {
                "matchResources": _MATCH,
                "paramRef": struct(
                    {
                        "name": string(),
                        "namespace": string(),
                        "parameterNotFoundAction": string(),
                        "selector": _SELECTOR,
                    }
                ),
                "policyName": string(),
                "validationActions": _STRINGS,
            }
        )
    }
)
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")


class PolicyStrategy(Strategy):
    schema = _POLICY
    has_status = True
    counts = True

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        spec = new.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        if isinstance(spec.get("matchConstraints"), dict):
            _default_match(spec["matchConstraints"])

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec = new["spec"]
        causes: list[Cause] = []
        if spec["failurePolicy"] not in ("Fail", "Ignore"):
            allowed = ("Fail", "Ignore")
            causes.append(errors.not_supported("spec.failurePolicy", spec["failurePolicy"], allowed))
        if not (spec.get("matchConstraints") or {}).get("resourceRules"):
            field = "spec.matchConstraints" + (".resourceRules" if spec.get("matchConstraints") else "")
            causes.append(errors.required(field))
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            text = "validations or auditAnnotations must be non-empty"
            causes.append(errors.required("spec.validations", text))
        return [*causes, *_expressions(spec)]


class BindingStrategy(Strategy):
    schema = _BINDING
    counts = True

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        spec = new.setdefault("spec", {})
        if isinstance(spec.get("matchResources"), dict):
            _default_match(spec["matchResources"])

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        spec = new["spec"]
        causes: list[Cause] = []
        if not spec.get("policyName"):
            causes.append(errors.required("spec.policyName"))
        actions = spec.get("validationActions") or []
        if not actions:
            causes.append(
                errors.required("spec.validationActions", "at least one validation action is required")
            )
        for index, action in enumerate(actions):
            place = f"spec.validationActions[{index}]"
            if action not in _ACTIONS:
                causes.append(errors.not_supported(place, action, _ACTIONS))
            if action in actions[:index]:
                causes.append(errors.duplicate(place, action))
        if {"Deny", "Warn"} <= set(actions):
            detail = (
                "must not contain both Deny and Warn (repeating the same validation failure information in "
            )
            detail += "the API response and headers serves no purpose)"
            causes.append(errors.invalid_value("spec.validationActions", actions, detail))
        ref = spec.get("paramRef")
        if ref is not None and bool(ref.get("name")) == (ref.get("selector") is not None):
            causes.append(errors.required("spec.paramRef", "one of name or selector must be specified"))
        if ref is not None and ref.get("parameterNotFoundAction") not in ("Allow", "Deny"):
            place = "spec.paramRef.parameterNotFoundAction"
            causes.append(errors.required(place))
        return causes


def _default_match(match: Obj) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for word in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(word) or ():
            rule.setdefault("scope", "*")


def _expressions(spec: Obj) -> Iterator[Cause]:
    """What is wrong with the expressions of a policy."""
    for index, one in enumerate(spec.get("matchConditions") or ()):
        yield from _expression(one.get("expression"), f"spec.matchConditions[{index}].expression", "bool", {})
    variables: dict[str, Program] = {}
    for index, one in enumerate(spec.get("variables") or ()):
        place = f"spec.variables[{index}].expression"
        wrong = list(_expression(one.get("expression"), place, "", variables))
        yield from wrong
        if not wrong:
            variables[one.get("name", "")] = compile_policy(one["expression"], variables)
    for index, one in enumerate(spec.get("validations") or ()):
        place = f"spec.validations[{index}]"
        yield from _expression(one.get("expression"), f"{place}.expression", "bool", variables)
        if one.get("messageExpression"):
            where = f"{place}.messageExpression"
            yield from _expression(one["messageExpression"], where, "string", variables)
        if (reason := one.get("reason")) is not None and reason not in _REASONS:
            yield errors.not_supported(f"{place}.reason", reason, _REASONS)


def _expression(source: Any, place: str, kind: str, variables: Mapping[str, Program]) -> Iterator[Cause]:
    if not (source or "").strip():
        yield errors.required(place, "expression is not specified")
        return
    try:
        program = compile_policy(source, variables)
    except CompileError as error:
        yield errors.invalid_value(place, source, f"compilation failed: {error.message}")
        return
    if kind and program.kind != kind:
        yield errors.invalid_value(place, source, f"must evaluate to {kind} but got {program.kind}")
