"""One resource at one version, as requests, discovery, tables and watches see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.apiserver.store.revision import Key
from mco.apiserver.strategies.strategy import Strategy
from mco.apiserver.tables.columns import AGE, NAME, Column

Obj = dict[str, Any]
"""An object as Python builtins."""

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
COMMON_FIELDS = {"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace"}


class Subresource(msgspec.Struct, frozen=True):
    """`kind` is what it takes and gives, as (group, version, kind); None: the resource's own kind."""

    name: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    kind: tuple[str, str, str] | None = None


STATUS = Subresource("status")


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """`fields` maps a field selector's label to the path that it reads; `subresources` names those that are
    read and written like the object itself; `schema` is the OpenAPI v3 schema, where there is one.
    `replicas_path` leads to the number of pods that an object of the resource wants."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    strategy: Strategy
    verbs: tuple[str, ...] = VERBS
    singular: str = ""
    list_kind: str = ""
    storage_version: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = (NAME, AGE)
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    replicas_path: str = ""
    custom: bool = False
    terminating: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`plural.group`: what revisions are filed under."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key(self, namespace: str, name: str) -> Key:
        return Key(self.resource, namespace if self.namespaced else "", name)

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)

    def field_path(self, label: str) -> str:
        """The path behind a field selector's label. Raises ValueError when the resource does not know it."""
        path = COMMON_FIELDS.get(label) or self.fields.get(label)
        if path and not (label == "metadata.namespace" and not self.namespaced):
            return path
        if self.custom or self.fields:
            raise ValueError(f"field label not supported: {label}")
        known = ", ".join(f'"{field}"' for field in COMMON_FIELDS)
        raise ValueError(f'"{label}" is not a known field selector: only {known}')
