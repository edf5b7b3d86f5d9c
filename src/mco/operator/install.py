"""What has to be there before the operator can follow anything; safe to repeat at any time."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mco.api import resources
from mco.api.crds import definitions
from mco.kube.client import Client
from mco.operator import ensure, objects
from mco.operator.objects import Installation
from mco.payload.source import cluster_operator

_ESTABLISHED = "Established"


async def install(client: Client, installation: Installation) -> None:
    """Applies CRDs, waits until they are served, then the namespaces."""
    await _definitions(client, installation)
    for body in objects.namespaces():
        await ensure.exists(client, resources.NAMESPACES, body)


async def _definitions(client: Client, installation: Installation) -> None:
    """Our CRDs are ours alone: an existing one is brought to this version's schema. Where a payload was
    applied it has brought ClusterOperators, or left them out."""
    wanted = list(definitions())
    for body in wanted:
        await ensure.spec_equals(client, resources.CUSTOM_RESOURCE_DEFINITIONS, body)
    if not installation.image:
        foreign: dict[str, Any] = cluster_operator.definition()
        await ensure.exists(client, resources.CUSTOM_RESOURCE_DEFINITIONS, foreign)
        wanted.append(foreign)
    await asyncio.gather(*(_served(client, body["metadata"]["name"]) for body in wanted))


async def _served(client: Client, name: str) -> None:
    """A watch would be one more moving part for something that takes milliseconds."""
    while True:
        found = await client.request("GET", resources.CUSTOM_RESOURCE_DEFINITIONS.path(name))
        status = msgspec.json.decode(found).get("status") or {}
        if any(c["type"] == _ESTABLISHED and c["status"] == "True" for c in status.get("conditions") or ()):
            return
        await asyncio.sleep(0.05)
