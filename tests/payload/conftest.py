"""Two API servers for the applier: what it does must not depend on which one it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.apiserver.server import Settings, running
from mco.kube.client import Client
from mco.kube.config import load


@pytest.fixture(params=["embedded", "real"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    """An administrator's."""
    if request.param == "real":
        async with Client(load(request.getfixturevalue("real_apiserver").kubeconfig)) as real:
            yield real
        return
    async with (
        running(Settings(data_dir=tmp_path / "api")) as server,
        Client(load(server.kubeconfig)) as embedded,
    ):
        yield embedded
