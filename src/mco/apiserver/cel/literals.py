"""What is wrong with constants in an expression: found when it is defined, though only its values are bad."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mco.apiserver.cel import formatting
from mco.apiserver.cel.conversions import CONVERSIONS
from mco.apiserver.cel.syntax import Checked, Node
from mco.apiserver.cel.values import Failure, tag_of
from mco.apiserver.schema.patterns import compile_pattern

Problem = tuple[int, str]
"""The place in the source and the text."""


def problems(checked: Checked) -> list[Problem]:
    """In the order of the original's checks: times, patterns, lists and maps, formats."""
    nodes = list(checked.nodes())
    found = [
        *(each for name in ("duration", "timestamp") for node in nodes for each in _time(node, name)),
        *(each for node in nodes for each in _pattern(node)),
        *_mixed(checked.root, checked),
        *(each for node in nodes for each in _format(node, checked)),
    ]
    return sorted({(checked.positions.get(at, 0), text) for at, text in found})


def _constant(node: Node, kind: type) -> bool:
    return node.kind == "constant" and isinstance(node.value, kind)


def _time(node: Node, name: str) -> Iterator[Problem]:
    if node.kind != "call" or node.name != name or not node.args or not _constant(node.args[0], str):
        return
    try:
        CONVERSIONS[name](node.args[0].value)
    except Failure:
        yield node.args[0].id, f"invalid {name} argument"


def _pattern(node: Node) -> Iterator[Problem]:
    if node.kind != "call" or node.name != "matches" or not _constant(node.args[-1], str):
        return
    try:
        compile_pattern(node.args[-1].value)
    except re.error:
        yield node.args[-1].id, "invalid matches argument"


def _mixed(node: Node, checked: Checked) -> Iterator[Problem]:
    """Elements of a list literal have one type; so have the values of a map, and its keys. What is formatted
    may be anything."""
    if node.kind == "call" and node.name == "format":
        return
    if node.kind == "list":
        yield from _unlike(node.args, checked, node.optional)
    elif node.kind == "map":
        yield from _unlike(node.args[0::2], checked, frozenset())
        yield from _unlike(node.args[1::2], checked, node.optional)
    for below in (*([node.target] if node.target is not None else []), *node.args):
        yield from _mixed(below, checked)


def _unlike(nodes: tuple[Node, ...], checked: Checked, optional: frozenset[int]) -> Iterator[Problem]:
    known = ""
    for index, node in enumerate(nodes):
        kind = "dyn" if index in optional else type_of(node, checked)
        if kind == "dyn":
            continue
        if known and kind != known:
            yield node.id, f"expected type '{known}' but found '{kind}'"
            return
        known = kind


def type_of(node: Node, checked: Checked) -> str:
    """As messages name it."""
    if node.kind == "constant":
        return tag_of(node.value).replace("null_type", "null")
    if node.kind == "list":
        inner = {type_of(arg, checked) for arg in node.args} or {"dyn"}
        return f"list({inner.pop() if len(inner) == 1 else 'dyn'})"
    kind = checked.types.get(node.id, "dyn")
    return "dyn" if kind in ("list", "map", "optional_type") else kind


def _format(node: Node, checked: Checked) -> Iterator[Problem]:
    if node.kind != "call" or node.name != "format" or node.target is None:
        return
    if not _constant(node.target, str) or node.args[0].kind != "list":
        return
    given = node.args[0].args
    try:
        found = list(formatting.parts(node.target.value, len(given)))
    except ValueError as error:
        yield node.id, str(error)
        return
    clauses = [part for part in found if isinstance(part, formatting.Clause)]
    for clause, arg in zip(clauses, given, strict=False):
        tag = _tag(arg, checked)
        problem = formatting.refusal(clause.kind, tag) if tag != "dyn" else ""
        is_special = clause.kind in "fe" and tag == "string"
        if problem and not is_special:
            yield arg.id, problem
            return
    if len(given) > len(clauses):
        counts = f"(expected {len(clauses)}, got {len(given)})"
        yield node.id, f"too many arguments supplied to string.format {counts}"


def _tag(node: Node, checked: Checked) -> str:
    if node.kind == "constant":
        return tag_of(node.value)
    if node.kind in ("list", "map"):
        return node.kind
    kind = checked.types.get(node.id, "dyn")
    return {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}.get(kind, kind)
