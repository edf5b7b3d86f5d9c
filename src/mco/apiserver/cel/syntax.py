"""The parsed and checked expression, as the evaluator's serialized form has it (google.api.expr)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgspec


class Node(msgspec.Struct):
    """One expression. `kind` says which fields count:

    constant: `value`; ident: `name`; select: `name`, `target`, `test` for has(); call: `name`, `target` of a
    member function, `args`; list: `args`; map: `args`, keys and values in turns; fold, a comprehension:
    `name` and `second` the variables, `target` the range, `accumulator`, `args` as (initial, condition,
    step, result)."""

    id: int
    kind: str = "constant"
    name: str = ""
    second: str = ""
    accumulator: str = ""
    value: Any = None
    target: Node | None = None
    args: tuple[Node, ...] = ()
    test: bool = False


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
    envelope = dict(_fields(packed))
    is_checked = envelope[1].endswith(b"CheckedExpr")
    for number, value in _fields(envelope[2]):
        if is_checked and number == 3:
            entry = dict(_fields(value))
            types[entry.get(1, 0)] = _type(entry.get(2, b""))
        elif number == (4 if is_checked else 2):
            root = _node(value)
        elif number == (5 if is_checked else 3):
            positions = _positions(value)
    return Checked(root, types, positions)


def _positions(data: bytes) -> dict[int, int]:
    entries = (dict(_fields(value)) for number, value in _fields(data) if number == 4)
    return {entry.get(1, 0): entry.get(2, 0) for entry in entries}


def _node(data: bytes) -> Node:
    node = Node(0)
    for number, value in _fields(data):
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
                node.kind, node.args = "list", tuple(_node(v) for n, v in _fields(value) if n == 1)
            case 8:
                node.kind, node.args = "map", tuple(_entries(value))
            case 9:
                _fold(node, value)
    return node


def _select(node: Node, data: bytes) -> None:
    parts = dict(_fields(data))
    node.kind, node.name = "select", parts.get(2, b"").decode()
    node.target, node.test = _node(parts[1]), bool(parts.get(3))


def _call(node: Node, data: bytes) -> None:
    fields = list(_fields(data))
    node.kind, node.name = "call", next((v.decode() for n, v in fields if n == 2), "")
    node.target = next((_node(v) for n, v in fields if n == 1), None)
    node.args = tuple(_node(v) for n, v in fields if n == 3)


def _entries(data: bytes) -> Iterator[Node]:
    for number, entry in _fields(data):
        if number == 2:
            parts = dict(_fields(entry))
            yield from (_node(parts[n]) for n in (3, 4) if n in parts)


def _fold(node: Node, data: bytes) -> None:
    parts = dict(_fields(data))
    node.kind, node.name, node.second = "fold", parts.get(1, b"").decode(), parts.get(8, b"").decode()
    node.accumulator = parts.get(3, b"").decode()
    node.target = _node(parts[2])
    node.args = tuple(_node(parts[n]) for n in (4, 5, 6, 7))


def _constant(data: bytes) -> Any:
    for number, value in _fields(data):
        match number:
            case 2:
                return bool(value)
            case 3:
                return value - (1 << 64) if value >> 63 else value
            case 6:
                return value.decode()
            case _:
                return value
    return None


_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {2: "timestamp", 3: "duration"}


def _type(data: bytes) -> str:
    """As `int` or `list`: what an estimate of costs needs to know."""
    for number, value in _fields(data):
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
    return next((v.decode() for n, v in _fields(data) if n == number), "")


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 1:
                yield key >> 3, struct.unpack_from("<d", data, at)[0]
                at += 8
            case 5:
                yield key >> 3, struct.unpack_from("<f", data, at)[0]
                at += 4
            case _:
                size, at = _varint(data, at)
                yield key >> 3, data[at : at + size]
                at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    shift = result = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return result, at
        shift += 7


Wrap = tuple[str, str]
"""A function and the name of its overload, around an expression."""

_CHILDREN = {5: (1,), 6: (1, 3), 7: (1,), 9: (2, 4, 5, 6, 7)}


def wrapped(packed: bytes, wraps: dict[int, Wrap]) -> bytes:
    """The serialized expression with calls around the nodes of these ids."""
    envelope = dict(_fields(packed))
    data = envelope[2]
    fresh = max((node.id for node in decode(packed).nodes()), default=0) + 1
    numbers = {at: fresh + index for index, at in enumerate(wraps)}
    out = []
    for number, value in _fields(data):
        rebuilt = _rewritten(value, wraps, numbers) if number == 4 else value
        out.append(_field(number, rebuilt))
    for at, (_, overload) in wraps.items():
        reference = _field(1, numbers[at]) + _field(2, _field(3, overload.encode()))
        out.append(_field(2, reference))
    kind: bytes = envelope[1]
    return _field(1, kind) + _field(2, b"".join(out))


def _rewritten(data: bytes, wraps: dict[int, Wrap], numbers: dict[int, int]) -> bytes:
    """One expression, with all below it."""
    out, at = [], 0
    for number, value in _fields(data):
        if number == 2:
            at = value
        if number in _CHILDREN:
            value = _children(value, _CHILDREN[number], wraps, numbers)
        elif number == 8:
            entries = ((n, _children(v, (3, 4), wraps, numbers) if n == 2 else v) for n, v in _fields(value))
            value = b"".join(_field(n, v) for n, v in entries)
        out.append(_field(number, value))
    if at not in wraps:
        return b"".join(out)
    call = _field(2, wraps[at][0].encode()) + _field(3, b"".join(out))
    return _field(2, numbers[at]) + _field(6, call)


def _children(
    data: bytes, children: tuple[int, ...], wraps: dict[int, Wrap], numbers: dict[int, int]
) -> bytes:
    return b"".join(
        _field(n, _rewritten(v, wraps, numbers) if n in children and isinstance(v, bytes) else v)
        for n, v in _fields(data)
    )


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    if isinstance(value, float):
        return _number(number << 3 | 1) + struct.pack("<d", value)
    raw: bytes = value
    return _number(number << 3 | 2) + _number(len(raw)) + raw


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
