"""Applies manifests as `kubectl apply` would leave them: created, or merged into what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mco.api import resources
from mco.api.resources import Resource
from mco.api.yaml import load_all
from mco.base.errors import InvalidInput
from mco.fleet.patience import patiently
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists

_BY_KIND: Mapping[str, Resource[Any]] = {
    resource.kind: resource
    for resource in (
        resources.MACHINE_CONFIGS,
        resources.MACHINE_CONFIG_POOLS,
        resources.MACHINE_CONFIGURATIONS,
        resources.CONFIG_MAPS,
        resources.NAMESPACES,
    )
}


def read(folder: Path) -> list[dict[str, Any]]:
    """The objects in the YAML files of `folder`, by file name. Raises InvalidInput naming file and line."""
    objects: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.yaml")):
        objects += load_all(path.read_bytes(), str(path))
    return objects


async def apply(client: Client, objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns `kind/name` of each object, in order."""
    names = []
    for body in objects:
        resource = _BY_KIND.get(body["kind"])
        if resource is None:
            raise InvalidInput(f"kind {body['kind']} is not one that this program applies")
        await patiently(partial(_apply_one, client, resource, body))
        names.append(f"{body['kind']}/{body['metadata']['name']}")
    return names


async def _apply_one(client: Client, resource: Resource[Any], body: Mapping[str, Any]) -> None:
    name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
    try:
        await client.create(resource, body, namespace=namespace)
    except AlreadyExists:
        await client.patch(resource, name, dict(body), namespace=namespace)
