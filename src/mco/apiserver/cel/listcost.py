"""Estimates for functions that make lists: by the elements that they look at, and those that they make."""

from __future__ import annotations

import math

from mco.apiserver.cel.syntax import Node

UNBOUNDED = 2**64 - 1
_MADE = 11
"""The call, and the new list."""


def listed(node: Node, size: int) -> tuple[int, int] | None:
    """Cost and size of the result, for a receiver of `size` elements; None for another function."""
    match node.name:
        case "slice":
            last, first = _number(node.args[1], size), _number(node.args[0], 0)
            made = last - first
            return _call(1, made if made >= 0 else UNBOUNDED)
        case "lists.range":
            return _call(1, _number(node.args[0], UNBOUNDED))
        case "reverse":
            return _call(1, size)
        case "flatten":
            return _call(_number(node.args[0], UNBOUNDED) if node.args else 1, size)
        case "distinct":
            return _call(2, size * size)
        case "sort":
            return sorting(size)
    return None


def sorting(size: int) -> tuple[int, int]:
    return _call(2, size * size)


def _call(factor: float, size: int) -> tuple[int, int]:
    size = min(size, UNBOUNDED)
    return min(math.ceil(size * factor) + _MADE, UNBOUNDED), size


def _number(node: Node, otherwise: int) -> int:
    """A constant, as the original takes it: what is below nothing is nothing."""
    value = node.value
    if node.kind != "constant" or not isinstance(value, int) or isinstance(value, bool):
        return otherwise
    return max(value, 0)
