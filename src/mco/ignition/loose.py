"""Brings a loose document into the strict shape of the structs, as Go's `encoding/json` would fill them.

Keys match whatever their case, a repeated key is decoded over the earlier value (objects field by field,
lists element by element), `null` changes nothing except that it empties a list or an optional value, keys
that the version does not know are dropped with a warning, and the first value of a wrong type is an error in
the original's words (spec/render.md 8.1).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from mco.ignition import types as t
from mco.ignition.document import Document, Node
from mco.ignition.report import Entry
from mco.ignition.schema import Field, Kind, fields
from mco.ignition.shapes import go_name, is_nullable, known
from mco.ignition.unused import unused_keys

_INTEGER = re.compile(r"-?[0-9]+")
_INT64 = 1 << 63
_SCALARS: dict[type, str] = {str: "string", int: "number", bool: "bool"}

# Go's names for the element types of string lists, for its type errors.
_STRING_TYPES: dict[tuple[type, str], str] = {
    (t.Filesystem, "mount_options"): "MountOption",
    (t.Filesystem, "options"): "FilesystemOption",
    (t.KernelArguments, "should_exist"): "KernelArgument",
    (t.KernelArguments, "should_not_exist"): "KernelArgument",
    (t.Luks, "open_options"): "OpenOption",
    (t.Luks, "options"): "LuksOption",
    (t.PasswdUser, "groups"): "Group",
    (t.PasswdUser, "ssh_authorized_keys"): "SSHAuthorizedKey",
    (t.Proxy, "no_proxy"): "NoProxyItem",
    (t.Raid, "devices"): "Device",
    (t.Raid, "options"): "RaidOption",
}

_NODE_FIELDS = frozenset(field.name for field in fields(t.Node))
_EMBEDDED: dict[type, str] = {
    t.Directory: "DirectoryEmbedded1",
    t.File: "FileEmbedded1",
    t.Link: "LinkEmbedded1",
}


class TypeMismatch(NamedTuple):
    """A value that does not fit its field; `offset` counts the bytes read up to it."""

    message: str
    offset: int


class Loose(NamedTuple):
    """`value` converts to the config struct; `unused` are the warnings about dropped keys, in the text's
    order."""

    value: dict[str, Any]
    unused: tuple[Entry, ...]
    mismatch: TypeMismatch | None


def normalise(document: Document, minor: int, root: type = t.Config) -> Loose:
    """Reads a document with the keys of one minor version of the spec that `root` is the config of."""
    decoder = _Decoder(minor)
    value = decoder.struct(root, document.root, None, _Place("", (), "types.Config"))
    unused = () if decoder.mismatch is not None else unused_keys(document, root, value, minor)
    return Loose(value, unused, decoder.mismatch)


class _Place(NamedTuple):
    """Where a value stands, in the words of Go's errors: the struct, the path of fields, the Go type."""

    struct: str
    path: tuple[str, ...]
    type: str

    def describe(self, what: str) -> str:
        if not self.path:
            return f"json: cannot unmarshal {what} into Go value of type {self.type}"
        field = ".".join(self.path)
        return f"json: cannot unmarshal {what} into Go struct field {self.struct}.{field} of type {self.type}"


class _Decoder:
    def __init__(self, minor: int) -> None:
        self.minor = minor
        self.mismatch: TypeMismatch | None = None

    def struct(self, struct: type, node: Node, old: dict[str, Any] | None, place: _Place) -> dict[str, Any]:
        """Decodes an object over `old`, the value of an earlier occurrence of the key."""
        value = dict(old) if old is not None else _blank(struct, self.minor)
        if node.kind == "null":
            return value
        if node.kind != "object":
            self._mismatch(node, place)
            return value
        table = _by_folded_key(struct, self.minor)
        name = go_name(struct, self.minor)
        for key, _, child in node.members:
            field = table.get(key) or table.get(_fold(key))
            if field is not None:
                path = (*place.path, *_embedded(struct, field), field.key)
                self._field(value, struct, field, child, _Place(name, path, ""))
        return value

    def _field(self, value: dict[str, Any], struct: type, field: Field, node: Node, place: _Place) -> None:
        old = value.get(field.key)
        if node.kind == "null" and is_nullable(struct, field, self.minor):
            value.pop(field.key, None)
        elif field.kind is Kind.STRUCT:
            inner = place._replace(type=f"types.{go_name(field.type, self.minor)}")
            value[field.key] = self.struct(field.type, node, old, inner)
        elif field.kind in (Kind.STRUCTS, Kind.STRINGS):
            self._list(value, struct, field, node, place)
        elif node.kind == "null":
            if field.kind is Kind.OPTIONAL:
                value.pop(field.key, None)
        else:
            scalar = self._scalar(field.type, node, place._replace(type=_scalar_name(field.type)))
            if scalar is not None:
                value[field.key] = scalar

    def _list(self, value: dict[str, Any], struct: type, field: Field, node: Node, place: _Place) -> None:
        if node.kind == "null":
            value.pop(field.key, None)
            return
        element = _element_name(struct, field, self.minor)
        if node.kind != "array":
            list_type = "types.HTTPHeaders" if field.name == "http_headers" else f"[]types.{element}"
            self._mismatch(node, place._replace(type=list_type))
            return
        inner = place._replace(type=f"types.{element}")
        old: list[Any] = value.get(field.key, [])
        items: list[Any] = []
        for index, item in enumerate(node.items):
            before = old[index] if index < len(old) else None
            if field.kind is Kind.STRUCTS:
                items.append(self.struct(field.type, item, before, inner))
            else:
                text = None if item.kind == "null" else self._scalar(str, item, inner)
                items.append(text if text is not None else before or "")
        value[field.key] = items

    def _scalar(self, wanted: type, node: Node, place: _Place) -> Any:
        if node.kind != _SCALARS[wanted]:
            self._mismatch(node, place)
            return None
        if wanted is not int:
            return node.value
        if _INTEGER.fullmatch(node.value) is None or not -_INT64 <= int(node.value) < _INT64:
            self._mismatch(node, place, f"number {node.value}")
            return None
        return int(node.value)

    def _mismatch(self, node: Node, place: _Place, what: str = "") -> None:
        if self.mismatch is None:
            offset = node.mark if node.kind in ("object", "array") else node.end
            self.mismatch = TypeMismatch(place.describe(what or node.kind), offset)


class _Version:
    """What the original decodes first, to find the version: `ignition.version` and nothing else."""

    def __init__(self) -> None:
        self.text = ""
        self.mismatch: TypeMismatch | None = None

    def read(self, root: Node) -> None:
        for node in self._members(root, "ignition", _Place("", (), "util.versionStub")):
            place = _Place("versionStub", ("Ignition",), "struct { Version string }")
            for version in self._members(node, "version", place):
                if version.kind == "string":
                    self.text = version.value
                elif version.kind != "null":
                    self._note(version, _Place("", ("Ignition", "Version"), "string"))

    def _members(self, node: Node, wanted: str, place: _Place) -> list[Node]:
        if node.kind == "object":
            return [child for key, _, child in node.members if _fold(key) == wanted]
        if node.kind != "null":
            self._note(node, place)
        return []

    def _note(self, node: Node, place: _Place) -> None:
        if self.mismatch is None:
            offset = node.mark if node.kind in ("object", "array") else node.end
            self.mismatch = TypeMismatch(place.describe(node.kind), offset)


def version_of(document: Document) -> str | TypeMismatch:
    """The text of `ignition.version`, `""` where it is absent."""
    version = _Version()
    version.read(document.root)
    return version.mismatch or version.text


def _blank(struct: type, minor: int) -> dict[str, Any]:
    """The zero value: nothing but what is always written."""
    return {f.key: f.type() for f in known(struct, minor) if f.kind is Kind.VALUE}


@cache
def _by_folded_key(struct: type, minor: int) -> dict[str, Field]:
    present = known(struct, minor)
    return {_fold(field.key): field for field in present} | {field.key: field for field in present}


def _fold(key: str) -> str:
    """Go's case folding of ASCII names: two letters outside ASCII fold to `s` and `k`."""
    return key.lower().replace("\u017f", "s").replace("\u212a", "k")


def _embedded(struct: type, field: Field) -> tuple[str, ...]:
    if struct not in _EMBEDDED:
        return ()
    return ("Node",) if field.name in _NODE_FIELDS else (_EMBEDDED[struct],)


def _element_name(struct: type, field: Field, minor: int) -> str:
    if field.kind is Kind.STRINGS:
        return _STRING_TYPES.get((struct, field.name), "string")
    return go_name(field.type, minor)


def _scalar_name(scalar: type) -> str:
    return {str: "string", int: "int", bool: "bool"}[scalar]
