"""The rules in CEL of a structural schema (x-kubernetes-validations): where they run, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.cel import cost
from mco.apiserver.cel.declared import Declared, declare, in_order_of
from mco.apiserver.cel.frame import OutOfBudget
from mco.apiserver.cel.values import NO_OVERLOAD, Failure, Maybe
from mco.apiserver.errors import Cause
from mco.apiserver.schema.expressions import Compiled, compile_rule, uses_old
from mco.apiserver.schema.values import identity_of, unchanged

Schema = Mapping[str, Any]

RULES = "x-kubernetes-validations"
_MESSAGE_BYTES = 5 * 1024
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_CANCELLED = "'operation cancelled: actual cost limit exceeded'"


class Rule(msgspec.Struct, frozen=True):
    compiled: Compiled
    text: str
    message: str
    expression: Compiled | None
    reason: str
    place: str
    uses_old: bool
    optional: bool


class Run:
    """One request's rules: what may still be spent on them, and what they find wrong."""

    def __init__(self, causes: list[Cause], left: int = cost.PER_REQUEST) -> None:
        self.causes = causes
        self.left = left
        self.per_rule = min(cost.PER_CALL, left)

    @property
    def is_over(self) -> bool:
        """Whether rules were left out because too much had been spent."""
        return self.left < 0


class Node:
    """The rules at one place of a schema and below it."""

    def __init__(self, schema: Schema, declared: Declared, *, whole: bool) -> None:
        self._declared = declared
        self._type = schema.get("type", "")
        self._is_scalar = declared.kind not in ("object", "map", "list")
        self.rules = [_rule(rule, declared) for rule in schema.get(RULES) or ()]
        self._fields = _needed(self.rules) if declared.kind == "object" else None
        self._properties: dict[str, Node] = {}
        self._rest: Node | None = None
        self._item: Node | None = None
        self._identity: Callable[[Any], tuple[bytes, Any]] | None = None
        for name, sub in (schema.get("properties") or {}).items():
            if not (whole and name in ("apiVersion", "kind", "metadata")) and (below := node(sub)):
                self._properties[name] = below
        if isinstance(extra := schema.get("additionalProperties"), Mapping):
            self._rest = node(extra)
        if isinstance(items := schema.get("items"), Mapping):
            self._item = node(items)
            if schema.get("x-kubernetes-list-type") == "map":
                self._identity = identity_of(schema)

    def run(self, value: Any, old: Any, path: str, run: Run, *, same: bool = False) -> None:
        """`old` is what the value was before, None: nothing that it can be compared with; `same`: what the
        value is part of did not change."""
        if value is None or run.is_over:
            return
        same = same or (old is not None and unchanged(value, old))
        if self.rules:
            self._run_own(value, old, path, run, same)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, entry in value.items():
                below = self._properties.get(name)
                if below is not None:
                    below.run(entry, before.get(name), _join(path, name), run, same=same)
                elif self._rest is not None:
                    self._rest.run(entry, before.get(name), f"{path}[{name}]", run, same=same)
        elif isinstance(value, list) and self._item is not None:
            past = self._correlated(value, old)
            for number, (entry, was) in enumerate(zip(value, past, strict=True)):
                self._item.run(entry, was, f"{path}[{number}]", run, same=same)

    def _correlated(self, value: list[Any], old: Any) -> list[Any]:
        """What each element was before, None where nobody can say."""
        if self._identity is None or not isinstance(old, list):
            return [None] * len(value)
        known = {self._identity(entry)[0]: entry for entry in old}
        return [known.get(self._identity(entry)[0]) for entry in value]

    def _run_own(self, value: Any, old: Any, path: str, run: Run, same: bool) -> None:
        shown, before = self._shown(value), None if old is None else self._shown(old)
        if before is not None:
            before = in_order_of(self._declared, shown, before)
        for rule in self.rules:
            if rule.uses_old and old is None and not rule.optional:
                continue
            if run.left <= 0:
                run.causes.append(self._unknown(path, _OUT_OF_BUDGET))
                run.left = -1
                return
            past = Maybe(() if before is None else (before,)) if rule.optional else before
            self._run_rule(rule, {"self": shown, "oldSelf": past}, value, path, run, same)
            if run.is_over:
                return

    def _run_rule(
        self,
        rule: Rule,
        variables: Mapping[str, Any],
        value: Any,
        path: str,
        run: Run,
        same: bool,
    ) -> None:
        name = rule.message or rule.text
        try:
            result = rule.compiled.program.run(variables, run.per_rule)
        except OutOfBudget:
            detail = f"{_CANCELLED}: no further validation rules will be run due to call cost exceeds limit "
            run.causes.append(self._unknown(path, f"{detail}for rule: {name}"))
            run.left = -1
            return
        except Failure as failure:
            run.causes.append(self._unknown(path, _failed(failure, name)))
            return
        run.left -= result.cost
        if result.value is True:
            return
        if same and not rule.uses_old:
            # Ratcheting: what was wrong already and is not touched stays.
            return
        detail = _message(rule, variables, run) or rule.message or f"failed rule: {rule.text}"
        run.causes.append(self._cause(f"{path}{rule.place}".lstrip("."), value, detail, rule.reason))

    def _shown(self, value: Any) -> Any:
        if self._fields is not None and isinstance(value, dict):
            value = {name: entry for name, entry in value.items() if name in self._fields}
        return value if self._declared.convert is None else self._declared.convert(value)

    def _unknown(self, path: str, detail: str) -> Cause:
        """Nobody knows whether the value is good: its type is printed."""
        return errors.invalid_value(path, self._type, detail)

    def _cause(self, path: str, value: Any, detail: str, reason: str = "") -> Cause:
        match reason:
            case "FieldValueForbidden":
                return errors.forbidden_field(path, detail)
            case "FieldValueRequired":
                return errors.required(path, detail)
            case "FieldValueDuplicate":
                return errors.duplicate(path, value)
        if self._is_scalar:
            return errors.invalid_value(path, value, detail)
        # Objects and lists are not printed.
        return Cause("FieldValueInvalid", f"Invalid value: {detail}", path)


def node(schema: Schema, *, whole: bool = False) -> Node | None:
    """None where no rule is. Raises CompileError."""
    if not has_rules(schema):
        return None
    whole = whole or bool(schema.get("x-kubernetes-embedded-resource"))
    declared = declare(schema, whole=whole)
    if declared is None:
        declared = Declared("dyn")
    return Node(schema, declared, whole=whole)


def has_rules(schema: Schema) -> bool:
    below = [
        *(schema.get("properties") or {}).values(),
        schema.get("additionalProperties"),
        schema.get("items"),
    ]
    return bool(schema.get(RULES)) or any(isinstance(sub, Mapping) and has_rules(sub) for sub in below)


def _rule(rule: Mapping[str, Any], declared: Declared) -> Rule:
    optional = bool(rule.get("optionalOldSelf"))
    compiled = compile_rule(rule["rule"], declared, optional=optional)
    expression = None
    if rule.get("messageExpression"):
        expression = compile_rule(rule["messageExpression"], declared, optional=optional)
    return Rule(
        compiled,
        rule["rule"].strip(),
        (rule.get("message") or "").strip(),
        expression,
        rule.get("reason") or "",
        field_place(rule.get("fieldPath") or ""),
        uses_old(compiled),
        optional,
    )


def field_place(path: str) -> str:
    """`.a['b.c']` as it is printed behind the path of the rule's own place."""
    return re.sub(r"\['((?:\\.|[^'\\])*)'\]", lambda match: f"[{match[1]}]", path)


def _needed(rules: list[Rule]) -> frozenset[str] | None:
    """Original names cannot be told from those in rules, so that only plain ones count."""
    needed: set[str] = set()
    for compiled in _expressions(rules):
        if compiled.fields is None or any("__" in name for name in compiled.fields):
            return None
        needed |= compiled.fields
    return frozenset(needed) if needed else None


def _expressions(rules: list[Rule]) -> Iterator[Compiled]:
    for rule in rules:
        yield rule.compiled
        if rule.expression is not None:
            yield rule.expression


def _failed(failure: Failure, name: str) -> str:
    if str(failure).startswith(NO_OVERLOAD):
        return (
            f"'{failure}': call arguments did not match a supported operator, function or macro signature "
            f"for rule: {name}"
        )
    return f"{failure} evaluating rule: {name}"


def _message(rule: Rule, variables: Mapping[str, Any], run: Run) -> str:
    """What the message expression says; empty when it fails or says nothing that can be used."""
    if rule.expression is None:
        return ""
    try:
        result = rule.expression.program.run(variables, run.per_rule)
    except Failure:
        return ""
    except OutOfBudget:
        run.left -= run.per_rule
        return ""
    run.left -= result.cost
    text = result.value
    text = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_BYTES else text


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
