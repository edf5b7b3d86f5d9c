"""Two API servers for the applier: what it does must not depend on which one it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.apiserver.server import Settings, running
from mco.kube.client import Client
from mco.kube.config import Cluster, load


@pytest.fixture(params=["embedded", "real"])
async def access(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    """An administrator's, to a server."""
    if request.param == "real":
        yield load(request.getfixturevalue("real_apiserver").kubeconfig)
        return
    async with running(Settings(data_dir=tmp_path / "api")) as server:
        yield load(server.kubeconfig)


@pytest.fixture
async def client(access: Cluster) -> AsyncIterator[Client]:
    """An administrator's."""
    async with Client(access) as made:
        yield made
