"""Makes objects exist, and brings back only what the operator owns of them.

A person's edits of a spec are never undone: an existing object keeps its spec, labels and annotations gain
what is missing (spec/operator.md 1.10).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mco.api.meta.objects import JSON, Object
from mco.api.resources import Resource
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, ConflictError, NotFoundError
from mco.payload.ensure import lacking_metadata

T = TypeVar("T")
Kind = TypeVar("Kind", bound=Object)

_ATTEMPTS = 5


async def exists(
    client: Client, resource: Resource[Any], body: Mapping[str, Any], known: Object | None = None
) -> Object:
    """Creates the object unless it is there, and adds labels and annotations that it lacks. `known` is the
    object as a cache has it: one that is right needs no request."""
    if known is not None and not missing_metadata(known, body["metadata"]):
        return known

    async def attempt() -> Object:
        found, _ = await _found_or_created(client, resource, body)
        missing = missing_metadata(found, body["metadata"])
        return await patched(client, resource, found, {"metadata": missing}) if missing else found

    return await decided(attempt)


async def spec_equals(client: Client, resource: Resource[Any], body: Mapping[str, Any]) -> None:
    """Like `exists`, and sets the spec too: for objects that nobody but the operator writes.

    A null in `body` holds only when the object is created: in a merge patch it would remove the field."""
    spec = {key: value for key, value in body["spec"].items() if value is not None}

    async def attempt() -> None:
        found, created = await _found_or_created(client, resource, body)
        if not created:
            changes = {"metadata": missing_metadata(found, body["metadata"]), "spec": spec}
            await patched(client, resource, found, changes)

    await decided(attempt)


async def decided(attempt: Callable[[], Awaitable[T]]) -> T:
    """The outcome of an attempt that reads, decides, and writes with the resourceVersion that it read. What
    somebody else was faster with is decided again, on what is there then."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await attempt()
        except ConflictError:
            continue
    return await attempt()


async def patched(
    client: Client,
    resource: Resource[Kind],
    found: Object,
    changes: Mapping[str, Any],
    *,
    subresource: str = "",
) -> Kind:
    """Merges `changes` into the object as it was found. Raises ConflictError when it is another one by now:
    an operator that was stopped in between writes nothing over its successor's."""
    metadata = {**changes.get("metadata", {}), "resourceVersion": found.metadata.resource_version}
    body = {**changes, "metadata": metadata}
    return await client.patch(
        resource, found.name, body, namespace=found.metadata.namespace, subresource=subresource
    )


def missing_metadata(found: Object, wanted: Mapping[str, JSON]) -> dict[str, JSON]:
    """The labels and annotations of `wanted` that `found` lacks or has with another value."""
    metadata = found.metadata
    return lacking_metadata(wanted, {"labels": metadata.labels, "annotations": metadata.annotations})


async def _found_or_created(
    client: Client, resource: Resource[Any], body: Mapping[str, Any]
) -> tuple[Object, bool]:
    """The object, and whether it was made just now."""
    name = body["metadata"]["name"]
    try:
        return await client.get(resource, name), False
    except NotFoundError:
        pass
    try:
        return await client.create(resource, body), True
    except AlreadyExists:
        return await client.get(resource, name), False
