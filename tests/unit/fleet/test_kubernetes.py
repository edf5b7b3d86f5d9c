"""What `mco up --kubernetes` decides before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mco.base.errors import Conflict
from mco.cli.daemon import command as daemon
from mco.cli.up import command as up
from mco.fleet.instance import Instance
from mco.fleet.kubernetes import cluster


def test_the_control_plane_has_a_machine_besides_the_workers() -> None:
    assert cluster.layout(2, []) == {"master-1": "master", "worker-1": "worker", "worker-2": "worker"}
    assert list(cluster.layout(1, ["master-1", "worker-1", "worker-3"])) == [
        "master-1",
        "worker-1",
        "worker-3",
    ]


@pytest.mark.parametrize(("has", "wanted"), [("etcd", False), ("store.db", True)])
def test_the_data_of_one_kind_are_not_taken_for_the_other(tmp_path: Path, has: str, wanted: bool) -> None:
    instance = Instance("default", tmp_path / "default")
    cluster.check(instance, wanted=wanted)
    instance.api.mkdir()
    (instance.api / "ca.crt").touch()
    (instance.api / has).mkdir()
    cluster.check(instance, wanted=not wanted)
    with pytest.raises(Conflict, match="has the data of") as refused:
        cluster.check(instance, wanted=wanted)
    assert "mco down --name default --purge" in refused.value.hint


@pytest.mark.parametrize("other", ["--tour", "--directories", "--simulate=3", "--settle=1"])
def test_options_of_the_embedded_server_are_refused(other: str) -> None:
    done = CliRunner().invoke(up, ["--kubernetes", other])
    assert done.exit_code == 2
    assert "--kubernetes goes with" in done.output


def test_a_daemon_has_one_identity() -> None:
    both = CliRunner().invoke(daemon, ["start", "--in-cluster", "--kubeconfig=x"])
    assert both.exit_code == 2
    assert "two identities" in both.output
    outside = CliRunner(env={"KUBERNETES_SERVICE_HOST": None}).invoke(daemon, ["start", "--in-cluster"])
    assert outside.exit_code == 2
    assert "is for a pod" in outside.output
