"""Values of CEL at run time: Python's own where they fit, and what Python lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class Failure(Exception):
    """An evaluation that ended in an error; the text is the real server's where there is one."""


NO_OVERLOAD = "no such overload"


class UInt(int):
    """An unsigned integer of 64 bits; int stands for a signed one."""


class Duration(msgspec.Struct, frozen=True, order=True):
    nanos: int


class Timestamp(msgspec.Struct, frozen=True, order=True):
    """Nanoseconds since 1970 in UTC."""

    nanos: int


class TypeName(msgspec.Struct, frozen=True):
    """A type as a value."""

    name: str


class Maybe(msgspec.Struct, frozen=True):
    """An optional value: `held` has it, or nothing."""

    held: tuple[Any, ...] = ()


NONE = Maybe()


class Opaque(msgspec.Struct, frozen=True, eq=False):
    """A value of a type of Kubernetes, as `net.IP`. Equal ones have equal `content`, however they were
    written; `shown` is what string() gives; `fields` are those that can be selected."""

    kind: str
    content: Any
    shown: str = ""
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and (self.kind, self.content) == (other.kind, other.content)

    def __hash__(self) -> int:
        return hash((self.kind, self.content))


_TAGS: dict[type, str] = {
    int: "int",
    UInt: "uint",
    float: "double",
    bool: "bool",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeName: "type",
    Maybe: "optional_type",
}
NUMBERS = ("int", "uint", "double")


def tag_of(value: Any) -> str:
    """The name of its type."""
    return value.kind if type(value) is Opaque else _TAGS[type(value)]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def size_of(value: Any) -> int:
    """Elements, code points or bytes; one for what has no size."""
    if type(value) is Maybe and value.held:
        return size_of(value.held[0])
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def equal(left: Any, right: Any) -> bool:
    """Raises Failure for a value of Kubernetes beside one of another type."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if type(left) is Opaque and tag_of(left) != tag_of(right):
        raise Failure(NO_OVERLOAD)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            (found := find(right, key)).held and equal(value, found.held[0]) for key, value in left.items()
        )
    if isinstance(left, Maybe):
        return len(left.held) == len(right.held) and all(map(equal, left.held, right.held))
    return bool(left == right)


def order(left: Any, right: Any) -> int:
    """-1, 0, 1. Raises Failure for values that have no order."""
    if is_number(left) and is_number(right):
        if left != left or right != right:
            raise Failure("NaN values cannot be ordered")
    elif type(left) is not type(right) or not isinstance(left, str | bytes | bool | Duration | Timestamp):
        raise Failure(NO_OVERLOAD)
    return int(left > right) - int(left < right)


def find(mapping: dict[Any, Any], key: Any) -> Maybe:
    """The entry of a map; an integral number finds the key of another numeric type."""
    if isinstance(key, bool):
        return next((Maybe((v,)) for k, v in mapping.items() if k is key), NONE)
    if isinstance(key, str):
        return Maybe((mapping[key],)) if key in mapping else NONE
    if is_number(key):
        return next((Maybe((v,)) for k, v in mapping.items() if is_number(k) and k == key), NONE)
    raise Failure(f"unsupported key type: {tag_of(key)}")


Implementation = Callable[..., Any]
