"""As much of an installation as rendering needs: kinds, namespace, pools, and a ControllerConfig that is
completed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from mco.api import controllerconfig as cc
from mco.api import names, resources
from mco.api.crds import definitions
from mco.api.meta import conditions as cond
from mco.api.resources import Resource
from mco.fleet.seed import guard
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.operator.objects import Installation, controller_config, pools

VERSION = "0.1.0"
_KINDS: tuple[Resource[Any], ...] = (
    resources.MACHINE_CONFIGS,
    resources.MACHINE_CONFIG_POOLS,
    resources.MACHINE_CONFIG_NODES,
    resources.CONTROLLER_CONFIGS,
    resources.MACHINE_OS_BUILDS,
)


async def installed(client: Client) -> None:
    """With the guard of rendered configs."""
    for body in definitions():
        await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
    for resource in _KINDS:
        await _served(client, resource)
    await client.create(resources.NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
    for body in pools():
        await client.create(resources.MACHINE_CONFIG_POOLS, body)
    await _controller_config(client)
    await guard(client)


async def _served(client: Client, resource: Resource[Any]) -> None:
    """A real server needs a moment for it."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(NotFoundError):
                await client.list(resource)
                return


async def _controller_config(client: Client) -> None:
    body = controller_config(Installation(server="https://api", ca=b"ca", version=VERSION))
    made = await client.create(resources.CONTROLLER_CONFIGS, body)
    states = (
        (cc.TEMPLATE_CONTROLLER_COMPLETED, cond.TRUE),
        (cc.TEMPLATE_CONTROLLER_RUNNING, cond.FALSE),
        (cc.TEMPLATE_CONTROLLER_FAILING, cond.FALSE),
    )
    conditions = [
        {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for type_, status in states
    ]
    status = {"observedGeneration": made.metadata.generation, "conditions": conditions}
    await client.patch(resources.CONTROLLER_CONFIGS, made.name, {"status": status}, subresource="status")
