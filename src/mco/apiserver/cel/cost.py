"""What an expression costs at most, by the estimate of the original: each step one, texts a tenth a byte.

The sizes come from the schema. What a rule really costs is counted when it runs (`spent`)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from mco.apiserver.cel.declared import Declared
from mco.apiserver.cel.listcost import listed, sorting
from mco.apiserver.cel.source import SORT_KEY
from mco.apiserver.cel.syntax import Checked, Node

PER_CALL = 1_000_000
PER_REQUEST = 10_000_000
PER_RULE = 10_000_000
PER_DEFINITION = 100_000_000
UNBOUNDED = 2**64 - 1

_TEXT_FACTOR = 0.1
_REGEX_FACTOR = 0.25
_LIST_COST, _MAP_COST = 10, 30
_FORMAT_REGEX = 128
_SCALARS = frozenset({"bool", "int", "uint", "double", "timestamp", "duration"})
_NUMBERS = frozenset({"bool", "int", "uint", "double", "object"})
_OPAQUE = ("net.", "kubernetes.")


class Sized(msgspec.Struct):
    """`size` of the value of a node whose cost was counted."""

    cost: int
    size: int


def estimate(checked: Checked, types: Mapping[int, Declared], whole: Declared) -> int:
    """The most that one evaluation costs. `whole` is the type of `self`."""
    return _Estimate(checked, types, whole).of(checked.root).cost


class _Estimate:
    def __init__(self, checked: Checked, types: Mapping[int, Declared], whole: Declared) -> None:
        self._whole = whole
        self._kinds = checked.types
        self._types = types
        self._locals: dict[str, int] = {}

    def of(self, node: Node) -> Sized:
        match node.kind:
            case "constant":
                return Sized(0, _constant_size(node.value))
            case "ident":
                size = self._locals[node.name] if node.name in self._locals else self._size(node)
                return Sized(1, size)
            case "select":
                assert node.target is not None
                cost = self.of(node.target).cost + (not node.test)
                return Sized(_bounded(cost), 1 if node.test else self._size(node))
            case "list":
                return Sized(_bounded(_LIST_COST + sum(self.of(e).cost for e in node.args)), len(node.args))
            case "map":
                cost = _MAP_COST + sum(self.of(e).cost for e in node.args)
                return Sized(_bounded(cost), len(node.args) // 2)
            case "fold":
                return self._fold(node)
            case _:
                return self._call(node)

    def _size(self, node: Node) -> int:
        declared = self._types.get(node.id)
        if declared is not None:
            return 0 if declared.kind in _NUMBERS else declared.most
        if node.kind == "ident":
            # Even of the names of types, by the way that the original looks sizes up.
            return 0 if self._whole.kind in _NUMBERS else self._whole.most
        kind = self._kinds.get(node.id, "dyn")
        return 1 if kind in _SCALARS or kind.startswith(_OPAQUE) else UNBOUNDED

    def _fold(self, node: Node) -> Sized:
        assert node.target is not None
        initial, condition, step, result = node.args
        over, begin = self.of(node.target), self.of(initial)
        outer = dict(self._locals)
        element = self._types.get(node.target.id)
        inner = element.element if element else None
        item = UNBOUNDED
        if node.target.kind == "list":
            item = max((self.of(each).size for each in node.target.args), default=0)
        elif inner is not None:
            item = 0 if inner.kind in _NUMBERS else inner.most
        self._locals[node.accumulator] = over.size if initial.kind in ("list", "map") else begin.size
        if node.second:
            self._locals |= {node.name: 1, node.second: item}
        elif node.name not in self._locals:
            self._locals[node.name] = item
        loop = self.of(condition).cost + self.of(step).cost
        cost = over.cost + begin.cost + over.size * loop + self.of(result).cost
        self._locals = outer
        if step.name == "_?_:_" and step.args[0].name == SORT_KEY:
            more, size = sorting(over.size)
            return Sized(_bounded(cost + more), size)
        return Sized(_bounded(cost), 1 if initial.kind == "constant" else over.size)

    def _call(self, node: Node) -> Sized:
        args = [self.of(arg) for arg in node.args]
        target = self.of(node.target) if node.target is not None else None
        below = sum(arg.cost for arg in args) + (target.cost if target else 0)
        sizes = [arg.size for arg in ((target, *args) if target else args)]
        own, size = self._own(node, args, sizes)
        return Sized(_bounded(below + own), min(size, UNBOUNDED))

    def _own(self, node: Node, args: list[Sized], sizes: list[int]) -> tuple[int, int]:
        """Of the call itself, without its arguments: cost, and size of the result."""
        first = sizes[0] if sizes else 0
        scan = _scaled(first, _TEXT_FACTOR)
        kind = self._kinds.get(node.id, "dyn")
        result = 1 if kind in _SCALARS or kind.startswith(_OPAQUE) else UNBOUNDED
        if (known := listed(node, first)) is not None:
            return known
        match node.name:
            case "_&&_" | "_||_" | "dyn":
                return int(node.name == "dyn"), first if node.name == "dyn" else 1
            case "_?_:_":
                # Only one of the two is evaluated.
                return -min(args[1].cost, args[2].cost), max(sizes[1:])
            case "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_":
                return _scaled(min(sizes), _TEXT_FACTOR), 1
            case "_+_" if self._kinds.get(node.id) not in _SCALARS:
                return _scaled(sum(sizes), _TEXT_FACTOR), sum(sizes)
            case "@in":
                is_map = self._kinds.get(node.args[1].id) == "map"
                return (1 if is_map else sizes[1]), 1
            case "_[_]":
                # Of an element that nothing is known of, the original takes the size of the whole.
                return 1, self._size(node) if node.id in self._types else self._whole.most
            case "startsWith" | "endsWith":
                return _scaled(sizes[1], _TEXT_FACTOR), 1
            case "matches" | "find" | "findAll" if node.target is not None:
                regex = _scaled(sizes[1], _REGEX_FACTOR)
                return _scaled(_plus(first, 1), _TEXT_FACTOR) * regex, 1 if node.name == "matches" else first
            case "contains" if node.target is not None:
                return scan * _scaled(sizes[1], _TEXT_FACTOR), 1
            case "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf":
                return first, 1
            case "validate":
                return _scaled(_scaled(sizes[1], _TEXT_FACTOR), _FORMAT_REGEX * _REGEX_FACTOR), UNBOUNDED
            case "url" | "lowerAscii" | "upperAscii" | "substring" | "trim":
                return scan, first
            case "replace" | "split":
                return _scaled(first, 2 * _TEXT_FACTOR), first if node.name == "split" else UNBOUNDED
            case "join":
                over = self._types.get(node.target.id) if node.target else None
                one = over.element if over else None
                joined = UNBOUNDED if one is None else first * (one.most + 1)
                return _scaled(joined, _TEXT_FACTOR), joined
            case "size" | "_[?_]" | "_?._":
                return 1, result
            case (
                "cidr"
                | "ip"
                | "isIP"
                | "isCIDR"
                | "isURL"
                | "quantity"
                | "isQuantity"
                | "string"
                | "bytes"
                | "format"
                | "semver"
                | "isSemver"
            ) if first > 1:
                return scan, 1 if node.name.startswith(
                    "is"
                ) else UNBOUNDED if node.name == "format" else first
        return 1, result


def _constant_size(value: object) -> int:
    return len(value.encode()) if isinstance(value, str) else 1


def _plus(size: int, more: int) -> int:
    return min(size + more, UNBOUNDED)


def _scaled(size: int, factor: float) -> int:
    return UNBOUNDED if size >= UNBOUNDED else math.ceil(size * factor)


def _bounded(cost: int) -> int:
    return max(0, min(cost, UNBOUNDED))


def times(cost: int, cardinality: int) -> int:
    return min(cost * cardinality, UNBOUNDED)


def excess(what: str, cost: int, limit: int) -> str:
    """The text of a refusal."""
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
