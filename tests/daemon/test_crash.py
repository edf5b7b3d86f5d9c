"""A real daemon process is killed, or told to stop, at points of an update between configs that differ in
everything, and another one goes on. Every pair of action and point: `tests/recovery`."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from mco.api import names
from mco.base.errors import Conflict
from mco.daemon.main import Daemon, Options
from mco.host.fake import FakeMachine
from tests.daemon import everykind
from tests.daemon import machine as machines
from tests.daemon.cluster import Cluster
from tests.daemon.crashing import POINTS
from tests.daemon.everykind import NEW, OLD, entry_of
from tests.daemon.machine import Machine
from tests.daemon.test_update import joined

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPOSITORY = Path(__file__).parents[2]

KINDS = (
    "write /etc/kept",
    "write /etc/fresh",
    "remove /etc/issue",
    "write unit changed",
    "write drop-in",
    "mask unit",
    "remove unit gone",
    "remove drop-in",
    "enable",
    "disable",
    "reset unit",
    "set 2 SSH keys",
    "set the password",
    "set kernel arguments",
    "record",
)
HELD = "/etc/systemd/system/fresh.service/held"
"""In the way of a unit: the update fails after about half of it."""

Tree = dict[str, tuple[Any, ...]]


def tree(machine: Machine) -> Tree:
    own = ("/etc/hostname", "/etc/machine-id")
    return {path: found for path, found in everykind.tree(machine.root).items() if path not in own}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def new_tree(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Of a machine that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    async with machines.machine(folder / "machine", "undisturbed", cluster.kubeconfig) as machine:
        await _joined(cluster, machine)
        await cluster.target(machine.name, NEW)
        await machine.start()
        await cluster.done(machine.name, NEW)
        return tree(machine)


async def _joined(cluster: Cluster, machine: Machine) -> Tree:
    """A node with OLD whose daemon has ended, and its tree."""
    everykind.furnish(machine.root)
    await joined(cluster, machine, OLD)
    await machine.stop()
    await cluster.create(NEW)
    return tree(machine)


async def killed(machine: Machine, kind: str, point: str, name: str = "KILL") -> None:
    """Runs the daemon in a process of its own until it dies at the point, or has stopped after it."""
    argv = (str(machine.folder), machine.name, str(machine.kubeconfig), str(entry_of(kind)), point, name)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.daemon.crashing", *argv, cwd=REPOSITORY, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(60):
            _, log = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == (-signal.SIGKILL if name == "KILL" else 0), log.decode()


TURNS = [(kind, POINTS[number % len(POINTS)]) for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "point"), TURNS)
async def test_an_update_is_completed_after_a_crash(
    cluster: Cluster, machine: Machine, new_tree: Tree, kind: str, point: str
) -> None:
    await _joined(cluster, machine)
    await cluster.target(machine.name, NEW)
    await killed(machine, kind, point)
    await machine.start()
    await cluster.done(machine.name, NEW)
    assert tree(machine) == new_tree
    assert machine.reboots == 1


@pytest.mark.parametrize("kind", ["write /etc/kept", "set kernel arguments"])
async def test_an_update_is_completed_after_the_machine_crashed(
    cluster: Cluster, machine: Machine, new_tree: Tree, kind: str
) -> None:
    await _joined(cluster, machine)
    await cluster.target(machine.name, NEW)
    await killed(machine, kind, "done")
    machine.boot()
    await machine.start()
    await cluster.done(machine.name, NEW)
    assert tree(machine) == new_tree
    assert machine.reboots <= 1


@pytest.mark.parametrize("kind", ["write /etc/fresh", "mask unit", "disable", "set the password", "record"])
async def test_a_withdrawn_update_is_undone_after_a_crash(
    cluster: Cluster, machine: Machine, kind: str
) -> None:
    before = await _joined(cluster, machine)
    await cluster.target(machine.name, NEW)
    await killed(machine, kind, "done")
    await cluster.target(machine.name, OLD)
    await machine.start()
    await cluster.done(machine.name, OLD)
    assert tree(machine) == before
    assert machine.reboots == 0


@pytest.mark.parametrize(
    ("kind", "point"),
    [("write /etc/kept", "undoing"), ("write unit changed", "undone"), ("write drop-in", "undoing")],
)
async def test_an_undo_is_completed_after_a_crash(
    cluster: Cluster, machine: Machine, kind: str, point: str
) -> None:
    machine.root.write(HELD, b"")
    before = await _joined(cluster, machine)
    await cluster.target(machine.name, NEW)
    await killed(machine, kind, point)
    await machine.start()
    await cluster.degraded(machine.name, "write /etc/systemd/system/fresh.service: is a directory")
    await cluster.target(machine.name, OLD)
    await cluster.done(machine.name, OLD)
    assert tree(machine) == before
    assert machine.reboots == 0


@pytest.mark.parametrize(
    ("kind", "point"), [("write /etc/kept", "noted"), ("enable", "before"), ("record", "recorded")]
)
async def test_a_daemon_that_is_told_to_stop_ends_after_the_action(
    cluster: Cluster, machine: Machine, new_tree: Tree, kind: str, point: str
) -> None:
    """Within its unit's stop time, at a place from which the next one goes on."""
    await _joined(cluster, machine)
    await cluster.target(machine.name, NEW)
    await killed(machine, kind, point, "TERM")
    if machine.machine.pending_reboot is not None:
        machine.boot()
    await machine.start()
    await cluster.done(machine.name, NEW)
    assert tree(machine) == new_tree
    assert machine.reboots <= 1


async def test_what_a_killed_writer_left_is_gone_after_the_start(cluster: Cluster, machine: Machine) -> None:
    left = (
        f"/var/lib/kubelet/.kubeconfig.mcd-{'0' * 12}",
        f"{names.STATE_FOLDER}/.lock.mcd-{'1' * 12}",
        f"/etc/systemd/system/.x.service.mcd-{'2' * 12}",
    )
    for path in left:
        machine.root.write(path, b"half")
    await joined(cluster, machine, OLD)
    assert not any(machine.root.exists(path) for path in left)


async def test_a_second_daemon_on_the_machine_refuses(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine, OLD)
    other = FakeMachine(machine.folder)
    with pytest.raises(Conflict, match="another daemon runs on this machine"):
        await Daemon(other.host, Options(kubeconfig=machine.kubeconfig, node_name=machine.name)).run()
    other.close()
    assert cluster.annotation(machine.name, names.STATE) == names.STATE_DONE
