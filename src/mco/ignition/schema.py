"""The shape of the config structs as tables: what merge, the loose parser and the encoder walk by.

Everything that the original learns by reflection about field names stands here once: which version
introduced a key, what identifies a list element, which lists share their keys, which are only concatenated
(spec/render.md 9, 10), and the Go names that its type errors print.
"""

from __future__ import annotations

import enum
import re
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec

from mco.ignition import types as t
from mco.ignition.v2 import types as v2


class Kind(enum.Enum):
    """What a field holds."""

    VALUE = "value"  # a string or number that is always there; absent is the zero value
    OPTIONAL = "optional"  # a string, number or boolean that may be absent
    STRUCT = "struct"
    STRUCTS = "structs"
    STRINGS = "strings"


class Field(NamedTuple):
    """One field of a struct: `name` in Python, `key` in JSON, `type` the struct or scalar type inside."""

    name: str
    key: str
    kind: Kind
    type: Any
    since: int  # the minor version of spec 3 (or 2) that introduced the key
    concatenates: bool  # a list whose merge is parent + child, duplicates allowed
    nullable: bool = False  # a struct that may be absent as a whole


MINORS = (0, 1, 2, 3, 4, 5)

# (struct, field): minor version of spec 3 that introduced it; fields not listed exist since 3.0.
_SINCE: dict[tuple[type, str], int] = {
    (t.Ignition, "proxy"): 1,
    (t.Resource, "http_headers"): 1,
    (t.Filesystem, "mount_options"): 1,
    (t.Storage, "luks"): 2,
    (t.PasswdGroup, "should_exist"): 2,
    (t.PasswdUser, "should_exist"): 2,
    (t.Partition, "resize"): 2,
    (t.Config, "kernel_arguments"): 3,
    (t.Luks, "discard"): 4,
    (t.Luks, "open_options"): 4,
    (t.Tang, "advertisement"): 4,
    (t.Luks, "cex"): 5,
}

_TABLES = (_SINCE, v2.SINCE)

CONCATENATED: frozenset[tuple[type, str]] = frozenset(
    {
        (t.File, "append"),
        (t.Filesystem, "options"),
        (t.Filesystem, "mount_options"),
        (t.Raid, "options"),
        (t.Luks, "options"),
    }
)

# Lists of one struct whose elements share one key space: the later mention moves an element between them.
SHARED: dict[type, tuple[str, ...]] = {
    t.Storage: ("directories", "files", "links"),
    t.KernelArguments: ("should_exist", "should_not_exist"),
}


def _partition_key(partition: t.Partition) -> str:
    if partition.number:
        return f"number:{partition.number}"
    return f"label:{partition.label}" if partition.label is not None else ""


def _path(node: t.Node) -> str:
    return node.path


def _device(element: t.Disk | t.Filesystem) -> str:
    return element.device


def _name(element: Any) -> str:
    return typing.cast(str, element.name)


def _source(resource: t.Resource) -> str:
    return resource.source or ""


def _url(tang: t.Tang) -> str:
    return tang.url


KEYS: dict[type, Callable[[Any], str]] = {
    t.Directory: _path,
    t.Disk: _device,
    t.Dropin: _name,
    t.File: _path,
    t.Filesystem: _device,
    t.HTTPHeader: _name,
    t.Link: _path,
    t.Luks: _name,
    t.Partition: _partition_key,
    t.PasswdGroup: _name,
    t.PasswdUser: _name,
    t.Raid: _name,
    t.Resource: _source,
    t.Tang: _url,
    t.Unit: _name,
}


def key_of(element: Any) -> str:
    """What identifies `element` in its list: strings are their own key."""
    return element if isinstance(element, str) else KEYS[type(element)](element)


@cache
def fields(struct: type) -> tuple[Field, ...]:
    """The fields of a struct in the order in which the original writes and checks them."""
    hints = typing.get_type_hints(struct)
    return tuple(
        _field(struct, info.name, info.encode_name, hints[info.name])
        for info in msgspec.structs.fields(struct)
    )


def _field(struct: type, name: str, key: str, hint: Any) -> Field:
    kind, inner = _kind(hint)
    since = next(
        (table[base, name] for base in struct.__mro__ for table in _TABLES if (base, name) in table), 0
    )
    nullable = kind is Kind.STRUCT and inner is not hint
    return Field(name, key, kind, inner, since, (struct, name) in CONCATENATED, nullable)


def _kind(hint: Any) -> tuple[Kind, Any]:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        inner = arguments[0]
        return (Kind.STRINGS if inner is str else Kind.STRUCTS), inner
    value = arguments[0] if arguments else hint
    if issubclass(value, msgspec.Struct):
        return Kind.STRUCT, value
    return (Kind.OPTIONAL if arguments else Kind.VALUE), value


@cache
def lists(struct: type) -> tuple[Field, ...]:
    """The fields that are lists."""
    return tuple(field for field in fields(struct) if field.kind in (Kind.STRUCTS, Kind.STRINGS))


@cache
def zero(struct: type) -> Any:
    """The struct with all fields at their zero values (a required field's is `""`)."""
    return struct(**{f.name: (zero(f.type) if f.kind is Kind.STRUCT else f.type()) for f in required(struct)})


@cache
def required(struct: type) -> tuple[Field, ...]:
    """The fields that are written even when they are empty."""
    names = {info.name for info in msgspec.structs.fields(struct) if info.default is msgspec.NODEFAULT}
    return tuple(field for field in fields(struct) if field.name in names)


def is_zero(value: Any) -> bool:
    """Whether a struct says nothing at all."""
    struct: type = type(value)
    return bool(value == zero(struct))


@cache
def keys_since(minor: int) -> re.Pattern[bytes]:
    """Finds keys in a text that spec 3.`minor` does not know or treats otherwise than 3.5, rather too
    many."""
    keys = {_key(struct, name) for (struct, name), since in _SINCE.items() if since > minor}
    if minor == 0:
        keys.add("compression")
    if minor < 3:
        keys.add("custom")
    return re.compile(b'"(?:' + b"|".join(sorted(key.encode() for key in keys)) + b')"')


def _key(struct: type, name: str) -> str:
    return next(field.key for field in fields(struct) if field.name == name)
