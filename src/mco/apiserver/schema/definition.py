"""Can these rules be enforced? Checked once, when a CustomResourceDefinition is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.cel import cost, environment
from mco.apiserver.cel.declared import REQUEST_BYTES, Declared, declare
from mco.apiserver.cel.environment import CompileError, InstantiationError
from mco.apiserver.errors import Cause
from mco.apiserver.schema.expressions import Compiled, compile_rule, uses_old
from mco.apiserver.schema.validations import RULES, has_rules

Schema = Mapping[str, Any]

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNBOUNDED = 0
_FIELDS = (
    ("rule", ""),
    ("message", ""),
    ("messageExpression", ""),
    ("reason", None),
    ("fieldPath", ""),
    ("optionalOldSelf", None),
)
_KINDS = {
    "rule": ("bool", "", "cel expression must evaluate to a bool"),
    "messageExpression": (
        "string",
        "messageExpression ",
        "messageExpression must evaluate to a string",
    ),
}
"""What an expression must give, what stands before its mistakes, and what is said of another result."""
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")


def rule_causes(schema: Schema, field: str) -> list[Cause]:
    """What is wrong with the rules of a whole object's schema, which is structural."""
    if not has_rules(schema):
        return []
    if not environment.AVAILABLE:
        # Rules that cannot be enforced are worse than none (design.md 10, embedded API server).
        detail = (
            "this server has no evaluator for CEL rules, and does not accept rules that it cannot enforce"
        )
        return [errors.forbidden_field(f"{field}.{RULES}", detail)]
    checking = _Checking()
    checking.visit(schema, field, 1, whole=True)
    return checking.causes + checking.too_much(field)


def rule_shapes(schema: Schema, field: str) -> Iterator[Cause]:
    """What is wrong with rules before anything is compiled."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        yield from _shape(rule, schema, f"{field}.{RULES}[{index}]")
    for name, sub in (schema.get("properties") or {}).items():
        yield from rule_shapes(sub, f"{field}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(sub := schema.get(word), Mapping):
            yield from rule_shapes(sub, f"{field}.{word}")


class _Checking:
    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self._total = 0
        self._costs: list[tuple[int, str]] = []
        self._uncorrelated = ""

    def visit(self, schema: Schema, field: str, cardinality: int, *, whole: bool = False) -> None:
        """`cardinality`: how many values of this schema an object may have; 0: nobody can say."""
        if not has_rules(schema):
            return
        whole = whole or bool(schema.get("x-kubernetes-embedded-resource"))
        for name, sub in (schema.get("properties") or {}).items():
            self.visit(sub, f"{field}.properties[{name}]", cardinality)
        if isinstance(extra := schema.get("additionalProperties"), Mapping):
            most = schema.get("maxProperties", _UNBOUNDED)
            self.visit(extra, f"{field}.additionalProperties", cardinality * most)
        if isinstance(items := schema.get("items"), Mapping):
            outer = self._uncorrelated
            if schema.get("x-kubernetes-list-type") != "map":
                self._uncorrelated = outer or field
            self.visit(items, f"{field}.items", cardinality * schema.get("maxItems", _UNBOUNDED))
            self._uncorrelated = outer
        if schema.get(RULES):
            self._rules(schema, field, cardinality, whole=whole)

    def _rules(self, schema: Schema, field: str, cardinality: int, *, whole: bool) -> None:
        declared = declare(schema, whole=whole)
        if declared is None:
            detail = (
                "failed to construct type information for x-kubernetes-validations rules: unable to convert"
            )
            text = f"Internal error: internal error: {detail} structural schema to CEL declarations"
            self.causes.append(Cause("InternalError", text, f"{field}.{RULES}"))
            return
        for index, rule in enumerate(schema[RULES]):
            self._rule(rule, declared, f"{field}.{RULES}[{index}]", cardinality)

    def _rule(self, rule: Mapping[str, Any], declared: Declared, place: str, cardinality: int) -> None:
        optional = rule.get("optionalOldSelf")
        compiled = self._compiled(rule, "rule", declared, place)
        if compiled is None:
            return
        times = cardinality or REQUEST_BYTES // (declared.least + 1)
        self._count(cost.times(compiled.cost, times), f"{place}.rule", "estimated rule cost")
        if rule.get("messageExpression"):
            message = self._compiled(rule, "messageExpression", declared, place)
            if message is not None:
                where = f"{place}.messageExpression"
                self._count(message.cost, where, "estimated messageExpression cost")
        if uses_old(compiled):
            if self._uncorrelated:
                detail = (
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    f"{self._uncorrelated}"
                )
                self.causes.append(errors.invalid_value(f"{place}.rule", rule["rule"], detail))
        elif optional is not None:
            detail = "may not be set if oldSelf is not used in rule"
            self.causes.append(errors.invalid_value(f"{place}.optionalOldSelf", optional, detail))

    def _compiled(
        self, rule: Mapping[str, Any], name: str, declared: Declared, place: str
    ) -> Compiled | None:
        """Of the rule, or of its message expression."""
        kind, before, wrong = _KINDS[name]
        detail = ""
        try:
            compiled = compile_rule(rule[name], declared, optional=bool(rule.get("optionalOldSelf")))
        except InstantiationError as error:
            detail = error.message
        except CompileError as error:
            detail = f"{before}compilation failed: {error.message}"
        else:
            if compiled.program.kind == kind:
                return compiled
            detail = wrong
        self.causes.append(_bad_rule(f"{place}.{name}", rule, detail))
        return None

    def _count(self, amount: int, place: str, what: str) -> None:
        self._total += amount
        self._costs.append((amount, place))
        if amount > cost.PER_RULE:
            self.causes.append(errors.forbidden_field(place, cost.excess(what, amount, cost.PER_RULE)))

    def too_much(self, field: str) -> list[Cause]:
        if self._total <= cost.PER_DEFINITION:
            return []
        shared = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        worst = sorted(self._costs, reverse=True)[:4]
        what = f"{RULES} estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(
                errors.forbidden_field(place, shared)
                for amount, place in worst
                if amount > cost.PER_DEFINITION // 100
            ),
            errors.forbidden_field(field, cost.excess(what, self._total, cost.PER_DEFINITION)),
        ]


def _bad_rule(place: str, rule: Mapping[str, Any], detail: str) -> Cause:
    """The whole rule is printed, as the original has it in memory."""
    fields = {name[0].upper() + name[1:]: rule.get(name, default) for name, default in _FIELDS}
    shown = msgspec.json.encode(fields).decode().translate(_ESCAPES)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {detail}", place)


def _shape(rule: Any, schema: Schema, place: str) -> list[Cause]:
    if not isinstance(rule, Mapping):
        return [errors.wrong_type(place, rule, "must be an object")]
    causes: list[Cause] = []
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        causes.append(errors.required(f"{place}.rule", "rule is not specified"))
    elif message and not message.strip():
        causes.append(errors.invalid_value(f"{place}.message", message, "must be non-empty if specified"))
    elif _broken(message.strip()):
        causes.append(errors.invalid_value(f"{place}.message", message, "must not contain line breaks"))
    elif _broken(text) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        causes.append(errors.required(f"{place}.message", detail))
    if (expression := rule.get("messageExpression") or "") and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        causes.append(errors.required(f"{place}.messageExpression", detail))
    if (reason := rule.get("reason")) is not None and reason not in REASONS:
        causes.append(errors.not_supported(f"{place}.reason", reason, REASONS))
    return causes + _path_causes(rule.get("fieldPath") or "", schema, f"{place}.fieldPath")


def _path_causes(path: str, schema: Schema, place: str) -> list[Cause]:
    causes = []
    if path and not path.strip():
        causes.append(errors.invalid_value(place, path, "must be non-empty if specified"))
    if _broken(path):
        causes.append(errors.invalid_value(place, path, "must not contain line breaks"))
    if path and not _leads_somewhere(path, schema):
        causes.append(errors.invalid_value(place, path, "must be a valid path"))
    return causes


def _leads_somewhere(path: str, schema: Schema) -> bool:
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return False
        name, at = match[1] or re.sub(r"\\(.)", r"\1", match[2]), match.end()
        extra = schema.get("additionalProperties")
        if name in (schema.get("properties") or {}):
            schema = schema["properties"][name]
        elif not schema.get("properties") and isinstance(extra, Mapping):
            schema = extra
        else:
            return False
    return True


def _broken(text: str) -> bool:
    return "\n" in text or "\r" in text
