"""The parsed and checked expression, as the evaluator's serialized form has it (google.api.expr)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgspec

from mco.apiserver.cel.values import UInt
from mco.apiserver.protowire import fields, signed, varint


class Node(msgspec.Struct):
    """One expression. `kind` says which fields count:

    constant: `value`; ident: `name`; select: `name`, `target`, `test` for has(); call: `name`, `target` of a
    member function, `args`; list: `args`; map: `args`, keys and values in turns; fold, a comprehension:
    `name` and `second` the variables, `target` the range, `accumulator`, `args` as (initial, condition,
    step, result). `optional` are the elements or entries written with `?`, by number."""

    id: int
    kind: str = "constant"
    name: str = ""
    second: str = ""
    accumulator: str = ""
    value: Any = None
    target: Node | None = None
    args: tuple[Node, ...] = ()
    test: bool = False
    optional: frozenset[int] = frozenset()


class Checked(msgspec.Struct):
    """`types` are of each node, by id; `positions` offsets in the source."""

    root: Node
    types: dict[int, str]
    positions: dict[int, int]

    def nodes(self) -> Iterator[Node]:
        return walk(self.root)


def walk(node: Node) -> Iterator[Node]:
    yield node
    if node.target is not None:
        yield from walk(node.target)
    for arg in node.args:
        yield from walk(arg)


def decode(packed: bytes) -> Checked:
    """Of what was checked, or only parsed."""
    types: dict[int, str] = {}
    positions: dict[int, int] = {}
    root = Node(0)
    envelope = dict(fields(packed))
    is_checked = envelope[1].endswith(b"CheckedExpr")
    for number, value in fields(envelope[2]):
        if is_checked and number == 3:
            entry = dict(fields(value))
            types[entry.get(1, 0)] = _type(entry.get(2, b""))
        elif number == (4 if is_checked else 2):
            root = _node(value)
        elif number == (5 if is_checked else 3):
            positions = _positions(value)
    return Checked(root, types, positions)


def _positions(data: bytes) -> dict[int, int]:
    entries = (dict(fields(value)) for number, value in fields(data) if number == 4)
    return {entry.get(1, 0): entry.get(2, 0) for entry in entries}


def _node(data: bytes) -> Node:
    node = Node(0)
    for number, value in fields(data):
        match number:
            case 2:
                node.id = value
            case 3:
                node.value = _constant(value)
            case 4:
                node.kind, node.name = "ident", _text(value, 1)
            case 5:
                _select(node, value)
            case 6:
                _call(node, value)
            case 7:
                _list(node, value)
            case 8:
                _map(node, value)
            case 9:
                _fold(node, value)
    return node


def _select(node: Node, data: bytes) -> None:
    parts = dict(fields(data))
    node.kind, node.name = "select", parts.get(2, b"").decode()
    node.target, node.test = _node(parts[1]), bool(parts.get(3))


def _call(node: Node, data: bytes) -> None:
    parts = list(fields(data))
    node.kind, node.name = "call", next((v.decode() for n, v in parts if n == 2), "")
    node.target = next((_node(v) for n, v in parts if n == 1), None)
    node.args = tuple(_node(v) for n, v in parts if n == 3)


def _list(node: Node, data: bytes) -> None:
    parts = list(fields(data))
    node.kind, node.args = "list", tuple(_node(v) for n, v in parts if n == 1)
    node.optional = frozenset(_numbers(next((v for n, v in parts if n == 2), b"")))


def _numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def _map(node: Node, data: bytes) -> None:
    entries = [dict(fields(entry)) for number, entry in fields(data) if number == 2]
    node.kind = "map"
    node.args = tuple(_node(entry[n]) for entry in entries for n in (3, 4))
    node.optional = frozenset(index for index, entry in enumerate(entries) if entry.get(5))


def _fold(node: Node, data: bytes) -> None:
    parts = dict(fields(data))
    node.kind, node.name, node.second = "fold", parts.get(1, b"").decode(), parts.get(8, b"").decode()
    node.accumulator = parts.get(3, b"").decode()
    node.target = _node(parts[2])
    node.args = tuple(_node(parts[n]) for n in (4, 5, 6, 7))


def _constant(data: bytes) -> Any:
    for number, value in fields(data):
        match number:
            case 1:
                return None
            case 2:
                return bool(value)
            case 3:
                return signed(value)
            case 4:
                return UInt(value)
            case 5:
                return struct.unpack("<d", value)[0]
            case 6:
                return value.decode()
            case _:
                return value
    return None


_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {2: "timestamp", 3: "duration"}


def _type(data: bytes) -> str:
    """As `int` or `list`: what an estimate of costs needs to know."""
    for number, value in fields(data):
        match number:
            case 3:
                return _PRIMITIVES.get(value, "dyn")
            case 5:
                return _WELL_KNOWN.get(value, "dyn")
            case 6:
                return "list"
            case 7:
                return "map"
            case 14:
                return _text(value, 1)
    return "dyn"


def _text(data: bytes, number: int) -> str:
    return next((v.decode() for n, v in fields(data) if n == number), "")
