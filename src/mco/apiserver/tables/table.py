"""A list as a Table object."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from mco.apiserver.registry.served import Served

Obj = dict[str, Any]

VERSION = "meta.k8s.io/v1"


def definitions(served: Served) -> list[dict[str, Any]]:
    return [column.definition() for column in served.columns]


def row(served: Served, obj: Obj, now: datetime, include: str) -> dict[str, Any]:
    """`include` is what clients ask for: `None`, `Metadata` (the default) or the whole `Object`."""
    cells = [column.cell(obj, now) for column in served.columns]
    if include == "None":
        return {"cells": cells}
    return {"cells": cells, "object": obj if include == "Object" else partial(obj)}


def table(
    served: Served, objects: Iterable[Obj], metadata: Obj, now: datetime, include: str
) -> dict[str, Any]:
    return {
        "kind": "Table",
        "apiVersion": VERSION,
        "metadata": metadata,
        "columnDefinitions": definitions(served),
        "rows": [row(served, obj, now, include) for obj in objects],
    }


def partial(obj: Obj) -> Obj:
    """Only the metadata, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": VERSION, "metadata": obj["metadata"]}
