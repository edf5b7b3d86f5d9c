"""One real cluster for all tests of this folder: its control plane, real kubelets, our payload."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mco.base.errors import NotFound
from mco.lab.kubernetes import programs
from tests.fleet.home import home_in, starter
from tests.kubernetes.cluster import PATIENCE, WORKERS, Cluster
from tests.kubernetes.upgrade import Upgrade, upgrade
from tests.servers.assets import absent


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        programs.find()
    except NotFound as error:
        absent(f"{error}: {error.hint}")
    with home_in(tmp_path_factory.mktemp("kubernetes")) as home, starter(home) as mco:
        up = mco("up", "--kubernetes", "--machines", str(len(WORKERS)))
        up.until("Running until Ctrl-C", PATIENCE)
        yield Cluster(mco, home / "state/mco/instances/default")
        assert up.stop() == 130
        down = mco("down", "--purge")  # images, unpacked three times: more than a test should leave behind
        assert down.ended() == 0, down.output


@pytest.fixture(scope="package")
def upgraded(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Upgrade:
    """The cluster has seen the next version come, and runs it."""
    return upgrade(cluster, tmp_path_factory.mktemp("upgrade"))
