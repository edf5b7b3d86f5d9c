"""Objects on their way out: one, a list, or an event of a watch, in the form that the client asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from mco.apiserver.http.options import Form
from mco.apiserver.registry.served import Served
from mco.apiserver.tables import table as tables

Obj = dict[str, Any]


def as_version(served: Served, data: bytes) -> bytes:
    """Stored bytes as the served version shows them: as they are, unless another version was stored."""
    if data.startswith(f'{{"apiVersion":"{served.api_version}"'.encode()):
        return data
    value = msgspec.json.decode(data)
    value["apiVersion"] = served.api_version
    return msgspec.json.encode(value)


def one(served: Served, data: bytes, form: Form, now: datetime) -> bytes:
    data = as_version(served, data)
    if form.shape == "json":
        return data
    obj = msgspec.json.decode(data)
    if form.shape == "partial":
        return msgspec.json.encode(tables.partial(obj))
    metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    return msgspec.json.encode(tables.table(served, [obj], metadata, now, form.include))


def list_begin(served: Served, form: Form) -> bytes:
    """A list up to its first item. Metadata comes last: the end of a list is only known there."""
    kind, api_version, items = served.list_kind, served.api_version, "items"
    extra: Obj = {}
    if form.shape == "table":
        kind, api_version, items = "Table", tables.VERSION, "rows"
        extra = {"columnDefinitions": tables.definitions(served)}
    elif form.shape == "partial":
        kind, api_version = "PartialObjectMetadataList", tables.VERSION
    head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, **extra})
    return head[:-1] + f',"{items}":['.encode()


def list_item(served: Served, data: bytes, form: Form, now: datetime) -> bytes:
    """One item; stored bytes are sent as they are where nothing has to change."""
    data = as_version(served, data)
    if form.shape == "json":
        return data
    obj = msgspec.json.decode(data)
    if form.shape == "partial":
        return msgspec.json.encode(tables.partial(obj))
    return msgspec.json.encode(tables.row(served, obj, now, form.include))


def list_end(metadata: Obj) -> bytes:
    return b'],"metadata":' + msgspec.json.encode(metadata) + b"}"


def frame(kind: str, data: bytes) -> bytes:
    """One line of a watch."""
    return b"".join((b'{"type":"', kind.encode(), b'","object":', data, b"}\n"))


def bookmark(served: Served, number: int, form: Form, *, initial: bool = False) -> bytes:
    """The line that tells a watcher how far it is, and after `sendInitialEvents` that it has everything."""
    metadata: Obj = {"resourceVersion": str(number), "creationTimestamp": None}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: Obj = {"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata}
    if form.shape == "partial":
        obj = tables.partial(obj)
    elif form.shape == "table":
        empty = {"cells": [None] * len(served.columns), "object": tables.partial(obj)}
        obj = tables.table(served, [], {"resourceVersion": str(number)}, datetime.min, form.include)
        obj["rows"] = [empty] if initial else []
    return frame("BOOKMARK", msgspec.json.encode(obj))
