"""Two servers, one suite: the embedded one, and the real one as the judge.

Each lives for a whole run; each test works in a namespace, or under a prefix, of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from mco.apiserver.server import Settings
from tests.contract.apiserver.embedded import in_thread
from tests.contract.apiserver.endpoint import Api, Endpoint
from tests.contract.apiserver.subjects import EmbeddedEndpoint, RealEndpoint

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """For what only the embedded server has: its own files and identities."""
    with in_thread(Settings(data_dir=tmp_path_factory.mktemp("apiserver"))) as server:
        yield EmbeddedEndpoint(server)


@pytest.fixture(scope="session", params=["embedded", "real"])
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    if request.param == "real":
        return RealEndpoint(request.getfixturevalue("real_apiserver"))
    endpoint: Endpoint = request.getfixturevalue("embedded")
    return endpoint


@pytest.fixture
def controllers(endpoint: Endpoint) -> None:
    """Somebody collects garbage, empties namespaces and keeps PodDisruptionBudgets up to date."""
    endpoint.start_controllers()


@pytest_asyncio.fixture
async def api(endpoint: Endpoint) -> AsyncIterator[Api]:
    async with endpoint.api() as api:
        yield api


@pytest.fixture
def prefix() -> str:
    """Begins the names of a test's cluster-scoped objects."""
    return f"t{next(_numbers)}"


@pytest_asyncio.fixture
async def namespace(api: Api, prefix: str) -> str:
    """The path of a fresh namespace, as `/api/v1/namespaces/t1`."""
    await api.create("/api/v1/namespaces", {"metadata": {"name": prefix}})
    return f"/api/v1/namespaces/{prefix}"
