"""What no config can be blamed for, on real file systems: a full disk, a read-only one, a link that leads
out of the machine; and a unit that does not start. Each heals by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from mco.host.fake import FakeMachine
from tests.daemon.builders import SERVICE, config, file, unit
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine
from tests.daemon.test_update import FIRST, SECOND, joined, tree
from tests.smalldisk import fill, read_only, small_disk

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems")


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    words: str = request.node.name
    return words.replace("_", "-")[:60]


@pytest.fixture
def disk(tmp_path: Path, name: str) -> Iterator[Path]:
    """The files of a machine called `name`, on a file system of 4 MiB."""
    FakeMachine.create(tmp_path / "made", hostname=name).close()
    with small_disk("4m") as folder:
        subprocess.run(["cp", "-a", *(tmp_path / "made/root").iterdir(), folder], check=True)
        yield folder


@pytest_asyncio.fixture(loop_scope="module")
async def small(tmp_path: Path, name: str, disk: Path, cluster: Cluster) -> AsyncIterator[Machine]:
    (tmp_path / "made/machine").rename(tmp_path / "machine")
    (tmp_path / "root").symlink_to(disk)
    machine = Machine(tmp_path, name, cluster.kubeconfig)
    try:
        yield machine
    finally:
        await machine.stop()
        machine.machine.close()


@needs_root
async def test_a_full_disk(cluster: Cluster, small: Machine, disk: Path) -> None:
    """The reason names it; with space again the update ends."""
    await joined(cluster, small)
    before = tree(small)
    await cluster.create(SECOND)
    ballast = fill(disk)
    await cluster.target(small.name, SECOND)
    reason = await cluster.degraded(small.name, "no space left on device")
    assert "free some space" in reason
    assert {path: found for path, found in tree(small).items() if path != "/ballast"} == before
    ballast.unlink()
    await cluster.done(small.name, SECOND)
    assert small.reboots == 1


@needs_root
async def test_a_read_only_folder(cluster: Cluster, small: Machine, disk: Path) -> None:
    """Nothing is lost, and the update ends once it can be written."""
    await joined(cluster, small)
    before = tree(small)
    await cluster.create(SECOND)
    with read_only(disk / "etc"):
        await cluster.target(small.name, SECOND)
        reason = await cluster.degraded(small.name, "read-only file system")
        assert "mount the file system writable" in reason
        assert tree(small) == before
    await cluster.done(small.name, SECOND)
    assert small.reboots == 1


@pytest.mark.parametrize("way", ["absolute", "upwards"])
async def test_a_link_that_leads_out_of_the_machine(
    cluster: Cluster, machine: Machine, tmp_path: Path, way: str
) -> None:
    """The root is a folder of another system, as in a container: what lies beside it stays as it is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    target = str(outside) if way == "absolute" else "../" * 20 + str(outside).lstrip("/")
    machine.root.symlink("/srv", target)
    await joined(cluster, machine)
    before = tree(machine)
    leading = config(f"out-{way}", files=[file("/srv/x", "secret")])
    await cluster.create(leading)
    await cluster.target(machine.name, leading)
    await cluster.degraded(machine.name, "/srv/x")
    assert list(outside.iterdir()) == []
    assert tree(machine) == before
    # Once the link leads to a folder of the machine, the same config fits.
    machine.root.mkdir(str(outside))
    await cluster.done(machine.name, leading)
    assert machine.read(f"{outside}/x") == "secret"
    assert list(outside.iterdir()) == []


async def test_a_unit_that_failed_is_forgotten_with_its_config(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    text = SERVICE.format("bad").replace("/usr/bin/sleep infinity", "/bin/false")
    failing = config("failing", units=[unit("bad.service", text, enabled=True)])
    await cluster.create(failing)
    await cluster.target(machine.name, failing)
    await cluster.until(lambda: cluster.condition(machine.name, "UnitsFailed") == "True", "UnitsFailed")
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    await cluster.until(lambda: cluster.condition(machine.name, "UnitsFailed") == "False", "all is well")
