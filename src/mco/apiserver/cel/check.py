"""What the schema knows and the compiler does not: fields that are not there, types of fields.

The compiler sees objects as maps. So a first pass over the parsed rule follows each selection through the
schema; the types that it finds go into the second compilation as variables with dotted names."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mco.apiserver.cel.declared import Declared
from mco.apiserver.cel.source import located
from mco.apiserver.cel.syntax import Checked, Node

_ROOTS = ("self", "oldSelf", "request", "namespaceObject", "variables")
_TEXT = Declared("string")
_NUMBER = Declared("int")


class Findings(msgspec.Struct):
    """`problems` are texts with the ids of their nodes; `variables` dotted names with their types;
    `types` what is known of each node."""

    problems: list[tuple[int, str]] = msgspec.field(default_factory=list)
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    types: dict[int, Declared] = msgspec.field(default_factory=dict)


Scope = Mapping[str, Declared | None]


def follow(checked: Checked, scope: Scope) -> Findings:
    """`scope` are the variables of the expression; None: nothing is known of one."""
    findings = Findings()
    _visit(checked.root, scope, findings)
    return findings


def _visit(node: Node, scope: Scope, findings: Findings) -> Declared | None:
    found = _typed(node, scope, findings)
    if found is not None:
        findings.types[node.id] = found
    return found


def _typed(node: Node, scope: Scope, findings: Findings) -> Declared | None:
    match node.kind:
        case "ident":
            return scope.get(node.name)
        case "select":
            return _select(node, scope, findings)
        case "fold":
            return _fold(node, scope, findings)
    below = [_visit(each, scope, findings) for each in (node.target, *node.args) if each is not None]
    if node.kind != "call":
        return None
    match node.name:
        case "_[_]" if below[0] is not None:
            return below[0].element
        case "_?_:_" if below[1] is not None and below[2] is not None:
            return below[1] if below[1].kind == below[2].kind else None
        case "_?._" if below[0] is not None and below[0].kind == "object":
            _field(node, str(node.args[1].value), below[0], findings)
    return None


def _select(node: Node, scope: Scope, findings: Findings) -> Declared | None:
    assert node.target is not None
    operand = _visit(node.target, scope, findings)
    if operand is None or operand.kind == "dyn":
        return None
    found: Declared | None = None
    match operand.kind:
        case "object":
            found = _field(node, node.name, operand, findings)
        case "map":
            found = operand.element
        case kind:
            findings.problems.append((node.id, f"type '{kind}' does not support field selection"))
    if node.test:
        return None
    name = _dotted(node, scope)
    if found is not None and name:
        findings.variables[name] = found.text
    return found


def _field(node: Node, name: str, operand: Declared, findings: Findings) -> Declared | None:
    if name not in operand.fields:
        findings.problems.append((node.id, f"undefined field '{name}'"))
    return operand.fields.get(name)


def _dotted(node: Node, scope: Scope) -> str:
    """As a name of a variable of the whole expression, or the empty text."""
    parts = []
    at: Node | None = node
    while at is not None and at.kind == "select":
        parts.append(at.name)
        at = at.target
    if at is None or at.kind != "ident" or at.name not in _ROOTS or at.name not in scope:
        return ""
    return ".".join([at.name, *reversed(parts)])


def _fold(node: Node, scope: Scope, findings: Findings) -> Declared | None:
    assert node.target is not None
    over = _visit(node.target, scope, findings)
    inner = dict(scope)
    inner[node.name] = None
    if node.second:
        inner[node.second] = over.element if over else None
        inner[node.name] = None if over is None else _NUMBER if over.kind == "list" else _TEXT
    elif over is not None:
        inner[node.name] = _TEXT if over.kind == "map" else over.element
    initial, *rest = node.args
    _visit(initial, scope, findings)
    inner[node.accumulator] = None
    for each in rest:
        _visit(each, inner, findings)
    return None


def report(problems: list[tuple[int, str]], checked: Checked, source: str) -> list[str]:
    """The problems as the compiler would print them, in the order of the source."""
    placed = sorted((checked.positions.get(at, 0), text) for at, text in dict.fromkeys(problems))
    return [located(source, offset, text) for offset, text in placed]
