from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.daemon import cluster as clusters
from tests.daemon import machine as machines
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine


@pytest_asyncio.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with clusters.running(tmp_path / "cluster") as found:
        yield found


@pytest_asyncio.fixture
async def machine(tmp_path: Path, cluster: Cluster) -> AsyncIterator[Machine]:
    async with machines.machine(tmp_path / "machine", "node1", cluster.kubeconfig) as found:
        yield found
