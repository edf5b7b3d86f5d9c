"""Metadata of an object and references between objects."""

from __future__ import annotations

from typing import Any

import msgspec


class APIStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, rename="camel"):
    """Base of every wire type. Unknown fields are ignored: these are views, not whole objects.

    They never form cycles, so the garbage collector need not look at them: a full collection with 10,000
    cached Nodes takes a sixth of the time."""


class OwnerReference(APIStruct, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(APIStruct, frozen=True, kw_only=True):
    """Times are RFC 3339 strings as the server sent them; `resource_version` is opaque."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    def label(self, key: str) -> str | None:
        return (self.labels or {}).get(key)

    def annotation(self, key: str) -> str | None:
        return (self.annotations or {}).get(key)

    def controller(self) -> OwnerReference | None:
        """The owner that controls this object, if one does."""
        return next((ref for ref in self.owner_references or () if ref.controller), None)


class ObjectReference(APIStruct, frozen=True, kw_only=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class Object(APIStruct, frozen=True, kw_only=True):
    """Base of every kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for a cluster-scoped object."""
        return (
            f"{self.metadata.namespace}/{self.metadata.name}"
            if self.metadata.namespace
            else self.metadata.name
        )


def older(obj: Object, other: Object) -> bool:
    """Whether both are the same object, `obj` an earlier version of it: versions of one object of one server
    can be compared. What is no number is never older."""
    versions = obj.metadata.resource_version, other.metadata.resource_version
    if obj.metadata.uid != other.metadata.uid or not all(version.isdigit() for version in versions):
        return False
    return int(versions[0]) < int(versions[1])


class LabelSelectorRequirement(APIStruct, frozen=True, kw_only=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(APIStruct, frozen=True, kw_only=True):
    """`None` in place of a selector selects nothing, an empty one everything, where Kubernetes evaluates it;
    pools treat an empty one as an error (spec/render.md 1.2, spec/node.md 3.2)."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None

    @property
    def empty(self) -> bool:
        return not self.match_labels and not self.match_expressions


JSON = Any
"""A JSON value as Python builtins."""
