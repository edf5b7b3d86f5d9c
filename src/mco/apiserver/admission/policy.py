"""One ValidatingAdmissionPolicy, compiled: what it decides of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver.admission.matching import Review
from mco.apiserver.cel import environment
from mco.apiserver.cel.environment import Program
from mco.apiserver.cel.values import Failure

Obj = dict[str, Any]

_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")


class Denial(msgspec.Struct, frozen=True):
    """`reason` is of the Status, empty for Invalid."""

    message: str
    reason: str = ""


class Validation(msgspec.Struct, frozen=True):
    program: Program
    message: str
    expression: Program | None
    reason: str


class Policy:
    """Raises CompileError for an expression that cannot be used."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        spec = body["spec"]
        self.name: str = body["metadata"]["name"]
        self.constraints: Mapping[str, Any] = spec.get("matchConstraints") or {}
        self.param_kind: Mapping[str, str] | None = spec.get("paramKind")
        self.fails_closed = spec.get("failurePolicy", "Fail") == "Fail"
        self._conditions = [compile_policy(one["expression"]) for one in spec.get("matchConditions") or ()]
        self._variables: dict[str, Program] = {}
        for one in spec.get("variables") or ():
            self._variables[one["name"]] = compile_policy(one["expression"], self._variables)
        self._validations = [_validation(one, self._variables) for one in spec.get("validations") or ()]

    def is_concerned(self, review: Review, params: Obj | None) -> bool:
        """Whether all match conditions hold. Raises Failure."""
        values = _Values(review, params, {})
        return all(values.of(condition) is True for condition in self._conditions)

    def denials(self, review: Review, params: Obj | None) -> Iterator[Denial]:
        """What is wrong with the request."""
        values = _Values(review, params, self._variables)
        for validation in self._validations:
            try:
                holds = values.of(validation.program)
            except Failure as failure:
                if self.fails_closed:
                    text = validation.program.source
                    yield Denial(f"expression '{text}' resulted in error: {failure}")
                continue
            if holds is not True:
                yield Denial(_message(validation, values), validation.reason)


class _Values:
    """The variables of one evaluation; those of the policy are computed when an expression wants them."""

    def __init__(self, review: Review, params: Obj | None, variables: Mapping[str, Program]) -> None:
        self._given = {
            "object": review.new,
            "oldObject": review.old,
            "request": _request(review),
            "params": params,
            "namespaceObject": review.namespace_object,
        }
        self._programs = variables
        self._known: dict[str, Any] = {}

    def of(self, program: Program) -> Any:
        for name in _variables_of(program):
            self._compute(name)
        needed = {**self._given, "variables": self._known}
        used = {node.name for node in program.checked.nodes() if node.kind == "ident"}
        return program.run({k: v for k, v in needed.items() if k in used}).value

    def _compute(self, name: str) -> None:
        if name in self._known or name not in self._programs:
            return
        try:
            self._known[name] = self.of(self._programs[name])
        except Failure as failure:
            raise Failure(f'composited variable "{name}" fails to evaluate: {failure}') from None


def compile_policy(source: str, variables: Mapping[str, Program] | None = None) -> Program:
    """Nothing is known of types but those of the policy's variables before it: an object may be of any kind.

    Raises CompileError."""
    types = {f"variables.{name}": _type_of(program) for name, program in (variables or {}).items()}
    return environment.compile_expression(source, dict.fromkeys(_VARIABLES, "dyn") | types)


def _type_of(program: Program) -> str:
    return program.kind if program.kind in ("bool", "int", "double", "string") else "dyn"


def _validation(one: Mapping[str, Any], variables: Mapping[str, Program]) -> Validation:
    expression = one.get("messageExpression")
    return Validation(
        compile_policy(one["expression"], variables),
        (one.get("message") or "").strip(),
        compile_policy(expression, variables) if expression else None,
        one.get("reason") or "",
    )


def _message(validation: Validation, values: _Values) -> str:
    if validation.expression is not None:
        try:
            text = values.of(validation.expression)
        except Failure:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return validation.message or f"failed expression: {validation.program.source.strip()}"


def _variables_of(program: Program) -> list[str]:
    return [
        node.name
        for node in program.checked.nodes()
        if node.kind == "select" and node.target is not None and node.target.name == "variables"
    ]


def _request(review: Review) -> Obj:
    kind = {"group": review.group, "version": review.version, "kind": review.kind}
    resource = {"group": review.group, "version": review.version, "resource": review.resource}
    user: Obj = {"username": review.user, "groups": list(review.groups)}
    if review.extra:
        user["extra"] = dict(review.extra)
    return {
        "uid": review.uid,
        "kind": kind,
        "resource": resource,
        "subResource": review.subresource,
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": review.subresource,
        "name": review.name,
        "namespace": review.namespace,
        "operation": review.operation,
        "userInfo": user,
        "dryRun": review.dry_run,
    }
