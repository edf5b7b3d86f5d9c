"""One cluster per test file, one machine per test: every test's node has its own name."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.daemon import cluster as clusters
from tests.daemon import machine as machines
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    async with clusters.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def machine(request: pytest.FixtureRequest, tmp_path: Path, cluster: Cluster) -> AsyncIterator[Machine]:
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{words}-{zlib.crc32(request.node.name.encode()):08x}"
    async with machines.machine(tmp_path / "machine", name, cluster.kubeconfig) as found:
        yield found
