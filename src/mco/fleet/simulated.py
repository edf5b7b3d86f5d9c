"""Simulated machines of a fleet: one process for all of them, kept alive as the other components are."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial

from mco.api import names, resources
from mco.fleet import commands
from mco.fleet.components import running
from mco.fleet.instance import Instance
from mco.fleet.patience import patiently
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.sim.fleet import INSTANCE_TYPE, SIMULATED, Order

PREFIX = "sim"


def nodes(count: int) -> dict[str, str]:
    """Names of `count` simulated nodes, with the pool that they join."""
    return dict.fromkeys(Order(nodes=count, prefix=PREFIX).names, names.WORKER)


@contextlib.asynccontextmanager
async def simulated(instance: Instance, client: Client, count: int) -> AsyncIterator[None]:
    """Runs them until the block ends. Those of an earlier run that are not wanted any more are gone before: a
    pool would wait for them forever."""
    await _forget(client, set(nodes(count)))
    parts = [commands.simulate(instance, PREFIX, count)] if count else []
    async with running(parts):
        yield


async def _forget(client: Client, wanted: set[str]) -> None:
    selector = f"{INSTANCE_TYPE}={SIMULATED}"
    found = await patiently(partial(client.list, resources.NODES, label_selector=selector))
    for node in found.items:
        if node.name not in wanted:
            with contextlib.suppress(NotFoundError):
                await patiently(partial(client.delete, resources.NODES, node.name))
