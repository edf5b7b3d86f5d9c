"""A real daemon process is killed at points of an update, and another one goes on."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from mco.api import names
from mco.base.errors import Conflict
from mco.daemon.main import Daemon, Options
from mco.host.fake import FakeMachine
from tests.daemon.builders import config, file, service, unit
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine
from tests.daemon.test_update import FIRST, SECOND, joined, tree

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPOSITORY = Path(__file__).parents[2]

ACTIONS = ("write /etc/motd", "write unit", "enable", "set kernel arguments", "record")
POINTS = ("before", "noted", "done", "recorded")


async def killed(machine: Machine, action: str, point: str) -> None:
    """Runs the daemon in a process of its own until it dies at the point."""
    argv = (str(machine.folder), machine.name, str(machine.kubeconfig), action, point)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.daemon.crashing", *argv, cwd=REPOSITORY, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(30):
            _, log = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == -signal.SIGKILL, log.decode()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("action", ACTIONS)
async def test_an_update_is_completed_after_a_crash(
    cluster: Cluster, machine: Machine, action: str, point: str
) -> None:
    await joined(cluster, machine)
    await machine.stop()
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await killed(machine, action, point)
    await machine.start()
    await cluster.done(machine.name, SECOND)
    assert machine.reboots == 1
    assert machine.read("/etc/motd") == "hello\n"
    assert machine.machine.host.systemd.is_enabled("demo.service") == "enabled"
    assert machine.machine.host.kernel.running().count("demo=1") == 1
    assert machine.root.list("/boot/loader/entries") == ["debian.conf", "mco-1.conf"]


@pytest.mark.parametrize("action", ["write /etc/motd", "set kernel arguments"])
async def test_an_update_is_completed_after_the_machine_crashed(
    cluster: Cluster, machine: Machine, action: str
) -> None:
    await joined(cluster, machine)
    await machine.stop()
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await killed(machine, action, "done")
    machine.boot()
    await machine.start()
    await cluster.done(machine.name, SECOND)
    assert machine.reboots <= 1


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_withdrawn_update_is_undone_after_a_crash(
    cluster: Cluster, machine: Machine, action: str
) -> None:
    await joined(cluster, machine)
    await machine.stop()
    before = tree(machine)
    await cluster.create(SECOND)
    await cluster.target(machine.name, SECOND)
    await killed(machine, action, "done")
    await cluster.target(machine.name, FIRST)
    await machine.start()
    await cluster.done(machine.name, FIRST)
    assert tree(machine) == before
    assert machine.reboots == 0


@pytest.mark.parametrize("point", ["undoing", "undone"])
@pytest.mark.parametrize("action", ["write /etc/motd", "write drop-in"])
async def test_an_undo_is_completed_after_a_crash(
    cluster: Cluster, machine: Machine, action: str, point: str
) -> None:
    broken = config(
        "undo",
        files=[file("/etc/motd", "hello\n")],
        units=[unit("demo.service", service(1), dropins={"hostname.conf": "[Unit]\n"})],
    )
    await joined(cluster, machine)
    await machine.stop()
    machine.root.write("/etc/systemd/system/demo.service/held", b"")
    before = tree(machine)
    await cluster.create(broken)
    await cluster.target(machine.name, broken)
    await killed(machine, action, point)
    await machine.start()
    await cluster.degraded(machine.name, "write /etc/systemd/system/demo.service: is a directory")
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert tree(machine) == before
    assert machine.reboots == 0


async def test_a_second_daemon_on_the_machine_refuses(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    other = FakeMachine(machine.folder)
    with pytest.raises(Conflict, match="another daemon runs on this machine"):
        await Daemon(other.host, Options(kubeconfig=machine.kubeconfig, node_name=machine.name)).run()
    other.close()
    assert cluster.annotation(machine.name, names.STATE) == names.STATE_DONE
