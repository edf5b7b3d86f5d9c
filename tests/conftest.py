"""What tests of several folders share: the real API server, one for all of a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.assets import find
from tests.servers.real import RealServer, real_server


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A kube-apiserver with etcd; skipped, or failed, where there is none."""
    with real_server(find(), tmp_path_factory.mktemp("real")) as server:
        yield server
