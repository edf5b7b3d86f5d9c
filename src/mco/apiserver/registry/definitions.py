"""Resources that CustomResourceDefinitions define, kept in step with the stored ones."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import STATUS, Served
from mco.apiserver.store.revision import Change, Revision
from mco.apiserver.store.store import Store
from mco.apiserver.strategies.custom import CustomStrategy
from mco.apiserver.tables.columns import AGE, NAME, Column, path_column

Obj = dict[str, Any]

RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions:
    """Follows the store's definitions and tells the catalog what to serve."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._served: dict[str, Obj] = {}

    def load(self, store: Store) -> None:
        for revision in store.page(RESOURCE).revisions:
            self.observe(revision)

    def observe(self, revision: Revision) -> str:
        """Serves what a definition says now; the resource, if what is served of it changed."""
        name = revision.key.name
        if revision.key.resource != RESOURCE:
            return ""
        if revision.change is Change.DELETED:
            self._catalog.define(name, ())
            return name if self._served.pop(name, None) is not None else ""
        definition = msgspec.json.decode(revision.data)
        essence = {
            "spec": definition["spec"],
            "established": _is_established(definition),
            "terminating": _is_terminating(definition),
        }
        before = self._served.get(name)
        if essence == before:
            return ""
        self._served[name] = essence
        self._catalog.define(name, served_by(definition))
        return name if before is not None else ""


def served_by(definition: Obj) -> tuple[Served, ...]:
    """The resources that an accepted definition makes available, one per served version."""
    if not _is_established(definition):
        return ()
    return tuple(
        _version(definition, version) for version in definition["spec"]["versions"] if version["served"]
    )


def _is_established(definition: Obj) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _is_terminating(definition: Obj) -> bool:
    return "deletionTimestamp" in definition["metadata"]


def _version(definition: Obj, version: Obj) -> Served:
    spec = definition["spec"]
    names = spec["names"]
    subresources = version.get("subresources") or {}
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    storage = next(v["name"] for v in spec["versions"] if v["storage"])
    return Served(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        list_kind=names.get("listKind") or names["kind"] + "List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec["scope"] == "Namespaced",
        storage_version=storage,
        strategy=CustomStrategy(schema, has_status="status" in subresources),
        subresources=(STATUS,) if "status" in subresources else (),
        columns=_columns(version),
        fields={
            item["jsonPath"].removeprefix("."): item["jsonPath"].removeprefix(".")
            for item in version.get("selectableFields") or ()
        },
        schema=schema,
        replicas_path=(subresources.get("scale") or {}).get("specReplicasPath", ""),
        custom=True,
        terminating=_is_terminating(definition),
    )


def _columns(version: Obj) -> tuple[Column, ...]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        return (NAME, AGE)
    shown = (
        path_column(
            column["name"],
            column["jsonPath"],
            kind=column["type"],
            priority=column.get("priority", 0),
            format=column.get("format", ""),
            description=column.get("description", ""),
        )
        for column in declared
    )
    return (NAME, *shown)
