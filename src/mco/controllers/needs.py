"""Who needs which rendered config, as the server has it now: caches may be behind, and what is deleted is
gone."""

from __future__ import annotations

from mco.api import names, resources
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.plan.pool.uses import Users


async def users(client: Client) -> Users:
    return Users(
        pools=(await client.list(resources.MACHINE_CONFIG_POOLS)).items,
        nodes=(await client.list(resources.NODES)).items,
        reports=(await client.list(resources.MACHINE_CONFIG_NODES)).items,
        builds=await _builds(client),
    )


async def served(client: Client) -> dict[str, str]:
    """When each config was served last, as RFC 3339."""
    try:
        marks = await client.get(resources.CONFIG_MAPS, names.SERVED_MAP, namespace=names.NAMESPACE)
    except NotFoundError:
        return {}
    return marks.data or {}


async def _builds(client: Client) -> dict[str, str]:
    try:
        builds = await client.list(resources.MACHINE_OS_BUILDS)
    except NotFoundError:
        # A cluster without that kind has no builds.
        return {}
    return {build.name: build.spec.machine_config.name for build in builds.items}
