"""The embedded API server, for tests that want the real thing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.apiserver.server import Settings, running
from mco.kube.client import Client
from mco.kube.config import load


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Client]:
    """An administrator's client on an API server of its own."""
    async with (
        running(Settings(data_dir=tmp_path / "api")) as server,
        Client(load(server.kubeconfig)) as client,
    ):
        yield client
