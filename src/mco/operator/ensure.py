"""Makes objects exist, and brings back only what the operator owns of them.

A person's edits of a spec are never undone: an existing object keeps its spec, labels and annotations gain
what is missing (spec/operator.md 1.10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mco.api.meta.objects import JSON, Object
from mco.api.resources import Resource
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError


async def exists(client: Client, resource: Resource[Any], body: Mapping[str, Any]) -> Object:
    """Creates the object unless it is there, and adds labels and annotations that it lacks."""
    name = body["metadata"]["name"]
    found = await _get(client, resource, name)
    if found is None:
        try:
            created: Object = await client.create(resource, body)
            return created
        except AlreadyExists:
            found = await client.get(resource, name)
    missing = missing_metadata(found, body["metadata"])
    if missing:
        patched: Object = await client.patch(resource, name, {"metadata": missing})
        return patched
    return found


async def spec_equals(client: Client, resource: Resource[Any], body: Mapping[str, Any]) -> None:
    """Like `exists`, and sets the spec too: for objects that nobody but the operator writes.

    A null in `body` holds only when the object is created: in a merge patch it would remove the field."""
    await exists(client, resource, body)
    spec = {key: value for key, value in body["spec"].items() if value is not None}
    await client.patch(resource, body["metadata"]["name"], {"spec": spec})


def missing_metadata(found: Object, wanted: Mapping[str, JSON]) -> dict[str, JSON]:
    """The labels and annotations of `wanted` that `found` lacks or has with another value."""
    have = {"labels": found.metadata.labels or {}, "annotations": found.metadata.annotations or {}}
    return {
        part: lacking
        for part in have
        if (lacking := {k: v for k, v in (wanted.get(part) or {}).items() if have[part].get(k) != v})
    }


async def _get(client: Client, resource: Resource[Any], name: str) -> Object | None:
    try:
        found: Object = await client.get(resource, name)
    except NotFoundError:
        return None
    return found
