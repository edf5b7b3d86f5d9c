"""ValidatingAdmissionPolicies and their bindings: checked and compiled when they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mco.api.schema import Schema, atomic, free, int64, string, struct, timestamp
from mco.apiserver import errors
from mco.apiserver.admission.policy import Known, compile_policy
from mco.apiserver.cel.declared import is_identifier
from mco.apiserver.cel.environment import CompileError
from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names
from mco.apiserver.strategies.matches import match_causes
from mco.apiserver.strategies.schemas import SELECTOR
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer

_STRINGS = atomic(string())
_EXPRESSION = {"name": string(), "expression": string()}
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
        "namespaceSelector": SELECTOR,
        "objectSelector": SELECTOR,
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
                        "selector": SELECTOR,
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
            text = "validations or auditAnnotations must contain at least one item"
            causes += [errors.required(f"spec.{word}", text) for word in ("validations", "auditAnnotations")]
        kind = spec.get("paramKind")
        if kind is not None:
            causes += _param_kind(kind)
        causes += match_causes(spec.get("matchConstraints") or {}, "spec.matchConstraints")
        return [*causes, *_names(new["metadata"]["name"], spec), *_expressions(spec)]


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
        name = spec.get("policyName") or ""
        if not name:
            causes.append(errors.required("spec.policyName"))
        else:
            problems = names.subdomain_errors(name)
            causes += [errors.invalid_value("spec.policyName", name, problem) for problem in problems]
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
        if (ref := spec.get("paramRef")) is not None:
            causes += _param_ref(ref)
        return [*causes, *match_causes(spec.get("matchResources") or {}, "spec.matchResources")]


def _param_kind(kind: Obj) -> Iterator[Cause]:
    version = kind.get("apiVersion") or ""
    if not version:
        yield errors.required("spec.paramKind.apiVersion")
    elif version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        yield errors.invalid_value("spec.paramKind.apiVersion", version, detail)
    if not kind.get("kind"):
        yield errors.required("spec.paramKind.kind")


def _param_ref(ref: Obj) -> Iterator[Cause]:
    place, named, chosen = "spec.paramRef", bool(ref.get("name")), ref.get("selector") is not None
    if named and chosen:
        detail = "name and selector are mutually exclusive"
        yield errors.forbidden_field(f"{place}.name", detail)
        yield errors.forbidden_field(f"{place}.selector", detail)
    elif not named and not chosen:
        yield errors.required(place, "one of name or selector must be specified")
    action = ref.get("parameterNotFoundAction")
    if not action:
        yield errors.required(f"{place}.parameterNotFoundAction")
    elif action not in ("Allow", "Deny"):
        yield errors.not_supported(f"{place}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _default_match(match: Obj) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for word in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(word) or ():
            rule.setdefault("scope", "*")


def _names(policy: str, spec: Obj) -> Iterator[Cause]:
    """Of match conditions, variables and audit annotations."""
    for word, name in (("matchConditions", "name"), ("auditAnnotations", "key")):
        seen: set[str] = set()
        for index, one in enumerate(spec.get(word) or ()):
            place, given = f"spec.{word}[{index}].{name}", one.get(name) or ""
            judged = f"{policy}/{given}" if name == "key" else given
            if not judged:
                yield errors.required(place)
                continue
            for problem in names.qualified_name_errors(judged):
                yield errors.invalid_value(place, judged, problem)
            if given in seen:
                yield errors.duplicate(place, given)
            seen.add(given)
    for index, one in enumerate(spec.get("variables") or ()):
        place, given = f"spec.variables[{index}].name", one.get("name") or ""
        if not given:
            yield errors.required(place, "name is not specified")
        elif not is_identifier(given):
            yield errors.invalid_value(place, given, "must be a valid CEL identifier")


def _expressions(spec: Obj) -> Iterator[Cause]:
    """What is wrong with the expressions of a policy."""
    known = Known(has_params=spec.get("paramKind") is not None)
    for index, one in enumerate(spec.get("matchConditions") or ()):
        place = f"spec.matchConditions[{index}].expression"
        yield from _expression(one.get("expression"), place, ("bool",), known)
    for index, one in enumerate(spec.get("variables") or ()):
        place = f"spec.variables[{index}].expression"
        wrong = list(_expression(one.get("expression"), place, (), known))
        yield from wrong
        if not wrong:
            known = known.also(one.get("name", ""), compile_policy(one["expression"], known))
    for index, one in enumerate(spec.get("validations") or ()):
        yield from _validation(one, f"spec.validations[{index}]", known)
    for index, one in enumerate(spec.get("auditAnnotations") or ()):
        place = f"spec.auditAnnotations[{index}].valueExpression"
        yield from _expression(one.get("valueExpression"), place, ("string", "null_type"), known)


def _validation(one: Obj, place: str, known: Known) -> Iterator[Cause]:
    yield from _expression(one.get("expression"), f"{place}.expression", ("bool",), known)
    message, expression = one.get("message") or "", one.get("messageExpression") or ""
    if message and not message.strip():
        yield errors.invalid_value(f"{place}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield errors.invalid_value(f"{place}.message", message, "must not contain line breaks")
    if expression and not expression.strip():
        detail = "must be non-empty if specified"
        yield errors.invalid_value(f"{place}.messageExpression", expression, detail)
    elif expression:
        yield from _expression(expression, f"{place}.messageExpression", ("string",), known)
    if (reason := one.get("reason")) is not None and reason not in _REASONS:
        yield errors.not_supported(f"{place}.reason", reason, _REASONS)


def _expression(source: Any, place: str, kinds: tuple[str, ...], known: Known) -> Iterator[Cause]:
    """`kinds` are the types that it may give, none of them: any."""
    if not (source or "").strip():
        yield errors.required(place, "expression is not specified")
        return
    try:
        program = compile_policy(source, known)
    except CompileError as error:
        yield errors.invalid_value(place, source, f"compilation failed: {error.message}")
        return
    kind = "null_type" if program.kind == "null" else program.kind
    if kinds and kind not in kinds:
        wanted = kinds[0] if len(kinds) == 1 else f"one of [{' '.join(kinds)}]"
        yield errors.invalid_value(place, source, f"must evaluate to {wanted} but got {kind}")
