"""One ValidatingAdmissionPolicy, compiled: what it decides of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver.admission.matching import Review
from mco.apiserver.admission.types import NAMESPACE, REQUEST
from mco.apiserver.cel import check, cost, environment
from mco.apiserver.cel.authorization import AUTHORIZER, RESOURCE, Ask, Question, authorizer
from mco.apiserver.cel.declared import Declared
from mco.apiserver.cel.environment import CompileError, Program
from mco.apiserver.cel.frame import OutOfBudget
from mco.apiserver.cel.values import Failure

Obj = dict[str, Any]

_KNOWN: Mapping[str, Declared | None] = {
    "object": None,
    "oldObject": None,
    "request": REQUEST,
    "namespaceObject": NAMESPACE,
}


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
        known = Known(has_params=self.param_kind is not None)
        self._conditions = [
            compile_policy(one["expression"], known) for one in spec.get("matchConditions") or ()
        ]
        self._variables: dict[str, Program] = {}
        for one in spec.get("variables") or ():
            program = self._variables[one["name"]] = compile_policy(one["expression"], known)
            known = known.also(one["name"], program)
        self._validations = [_validation(one, known) for one in spec.get("validations") or ()]

    def is_concerned(self, review: Review, params: Obj | None, ask: Ask) -> bool:
        """Whether all match conditions hold; one that does not decides, even when others fail.

        Raises Failure."""
        values = _Values(review, params, {}, ask)
        problem: Failure | None = None
        for condition in self._conditions:
            try:
                if values.of(condition) is not True:
                    return False
            except Failure as failure:
                text = f"expression '{condition.source}' resulted in error: {failure}"
                problem = problem or Failure(text)
        if problem is not None:
            raise problem
        return True

    def denials(self, review: Review, params: Obj | None, ask: Ask) -> Iterator[Denial]:
        """What is wrong with the request."""
        values = _Values(review, params, self._variables, ask)
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

    def __init__(
        self, review: Review, params: Obj | None, variables: Mapping[str, Program], ask: Ask
    ) -> None:
        self._given = {
            "object": review.new,
            "oldObject": review.old,
            "request": _request(review),
            "params": params,
            "namespaceObject": review.namespace_object,
            "authorizer": authorizer(ask, _requested(review)),
        }
        self._programs = variables
        self._known: dict[str, Any] = {}
        self._left = cost.PER_REQUEST

    def of(self, program: Program) -> Any:
        """Raises Failure, also when all together cost more than a request may."""
        for name in _variables_of(program):
            self._compute(name)
        needed = {**self._given, "variables": self._known}
        used = {node.name for node in program.checked.nodes() if node.kind == "ident"}
        if self._left <= 0:
            raise Failure("validation failed due to running out of cost budget")
        try:
            result = program.run({k: v for k, v in needed.items() if k in used})
        except OutOfBudget:
            self._left -= cost.PER_CALL
            raise Failure("operation cancelled: actual cost limit exceeded") from None
        self._left -= result.cost
        return result.value

    def _compute(self, name: str) -> None:
        if name in self._known or name not in self._programs:
            return
        try:
            self._known[name] = self.of(self._programs[name])
        except Failure as failure:
            raise Failure(f'composited variable "{name}" fails to evaluate: {failure}') from None


class Known(msgspec.Struct, frozen=True):
    """What an expression may use besides the request: parameters, and the variables before it."""

    has_params: bool = False
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)

    def also(self, name: str, program: Program) -> Known:
        return Known(self.has_params, {**self.variables, name: _type_of(program)})


def compile_policy(source: str, known: Known) -> Program:
    """Raises CompileError."""
    scope = dict(_KNOWN)
    if known.has_params:
        scope["params"] = None
    if known.variables:
        scope["variables"] = Declared("object", {name: Declared("dyn") for name in known.variables})
    parsed = environment.parse(source)
    found = check.follow(parsed, scope)
    types = {name: declared.text if declared else "dyn" for name, declared in scope.items()}
    types |= found.variables | {f"variables.{name}": kind for name, kind in known.variables.items()}
    types |= {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE}
    problems = check.report(found.problems, parsed, source)
    try:
        program = environment.compile_expression(source, types)
    except CompileError as error:
        raise CompileError("\n".join(dict.fromkeys((*problems, error.message)))) from None
    if problems:
        raise CompileError("\n".join(problems))
    return program


def _requested(review: Review) -> Question:
    return Question(
        group=review.group,
        resource=review.resource,
        subresource=review.subresource,
        namespace=review.namespace,
        name=review.name,
    )


def _type_of(program: Program) -> str:
    return program.kind if program.kind in ("bool", "int", "double", "string") else "dyn"


def _validation(one: Mapping[str, Any], known: Known) -> Validation:
    expression = one.get("messageExpression")
    return Validation(
        compile_policy(one["expression"], known),
        (one.get("message") or "").strip(),
        compile_policy(expression, known) if expression else None,
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
