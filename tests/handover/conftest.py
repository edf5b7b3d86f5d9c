"""A real API server of its own: the components' Leases, kinds and permissions are here under their real
names."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from mco.api import names
from mco.api.resources import LEASES, NAMESPACES
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import NotFoundError
from tests.handover.processes import Starter, durations, processes
from tests.servers.assets import find
from tests.servers.real import RealServer, real_server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with real_server(find(), tmp_path_factory.mktemp("handover")) as server:
        asyncio.run(_namespace(server))
        yield server


async def _namespace(server: RealServer) -> None:
    async with Client(load(server.kubeconfig)) as client:
        await client.create(NAMESPACES, {"metadata": {"name": names.NAMESPACE}})


@pytest.fixture
async def admin(server: RealServer) -> AsyncIterator[Client]:
    """An administrator's."""
    async with Client(load(server.kubeconfig)) as client:
        yield client


@pytest.fixture(autouse=True)
async def _nobody_leads(admin: Client) -> None:
    for lease in (names.OPERATOR_LEASE, names.CONTROLLER_LEASE):
        with contextlib.suppress(NotFoundError):
            await admin.delete(LEASES, lease, namespace=names.NAMESPACE)


@pytest.fixture
async def scaled() -> AsyncIterator[Starter]:
    """Processes whose lease lasts 4 s in place of 137."""
    async with processes(durations(4, 3, 1)) as starter:
        yield starter


@pytest.fixture
async def unscaled() -> AsyncIterator[Starter]:
    """With the original's durations: what they do in seconds did not wait for a Lease."""
    async with processes({}) as starter:
        yield starter
