"""A machine and a cluster that fail for a while: full disk, read-only files, an API server that is away."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mco.api import names
from mco.api.resources import NODES
from mco.daemon.notify import Notifier
from mco.daemon.worker import Worker
from mco.host.effects import Effects
from mco.host.journal import FOLDER
from mco.host.records import Line, checksum
from mco.runtime.clock import SystemClock
from tests.daemon.builders import config, file
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine
from tests.daemon.test_update import FIRST, SECOND, joined, tree

JOURNAL = f"{FOLDER}/log"

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Failing(Effects):
    """Refuses to create files while `number` is set: ENOSPC after `room` more of them, EROFS at once."""

    def __init__(self) -> None:
        self.number = 0
        self.room = 0

    def create(self, folder: int, name: str, mode: int) -> int:
        if self.number:
            if self.room <= 0:
                raise OSError(self.number, os.strerror(self.number))
            self.room -= 1
        return super().create(folder, name, mode)


@pytest.mark.parametrize("room", [0, 3, 13])
async def test_a_full_disk(cluster: Cluster, machine: Machine, room: int) -> None:
    """Wherever it becomes full: the reason names the system error, and with space everything goes on."""
    await joined(cluster, machine)
    failing = Failing()
    await machine.stop()
    machine.effects = failing
    await machine.start()
    await cluster.create(SECOND)
    failing.number, failing.room = errno.ENOSPC, room
    await cluster.target(machine.name, SECOND)
    reason = await cluster.degraded(machine.name, "no space left on device")
    assert "free some space" in reason
    failing.number = 0
    await cluster.done(machine.name, SECOND)
    assert machine.reboots == 1


@pytest.mark.parametrize("room", [0, 4])
async def test_a_read_only_file_system_and_a_withdrawn_config(
    cluster: Cluster, machine: Machine, room: int
) -> None:
    await joined(cluster, machine)
    before = tree(machine)
    failing = Failing()
    await machine.stop()
    machine.effects = failing
    await machine.start()
    await cluster.create(SECOND)
    failing.number, failing.room = errno.EROFS, room
    await cluster.target(machine.name, SECOND)
    await cluster.degraded(machine.name, "read-only file system")
    failing.number = 0
    await cluster.target(machine.name, FIRST)
    await cluster.done(machine.name, FIRST)
    assert tree(machine) == before
    assert machine.reboots == 0


async def test_sigterm_ends_the_program_and_an_update_goes_on_later(
    cluster: Cluster, machine: Machine
) -> None:
    """The program itself, as its unit starts it."""
    await joined(cluster, machine)
    await machine.stop()
    await cluster.create(SECOND)
    argv = (f"--fake-host={machine.folder}", f"--kubeconfig={machine.kubeconfig}", "--register-node")
    program = str(Path(sys.executable).with_name("mco"))
    process = await asyncio.create_subprocess_exec(
        program, "daemon", "start", f"--node-name={machine.name}", *argv, stderr=subprocess.DEVNULL
    )
    await cluster.target(machine.name, SECOND)
    await cluster.until(
        lambda: cluster.annotation(machine.name, names.STATE) == names.STATE_WORKING, "the update"
    )
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 20) == 0
    if machine.machine.pending_reboot is not None:
        machine.boot()
    await machine.start()
    await cluster.done(machine.name, SECOND)
    assert machine.read("/etc/motd") == "hello\n"


async def test_a_node_that_was_said_to_be_away_reports_ready(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    status = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}
    await cluster.client.patch(NODES, machine.name, {"status": status}, subresource="status")
    await cluster.until(
        lambda: (
            [c.status for c in cluster.get(machine.name).status.conditions if c.type == "Ready"] == ["True"]
        ),
        "the node is Ready again",
    )


async def test_a_deleted_node_is_registered_again(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    await machine.stop()
    await cluster.client.delete(NODES, machine.name)
    await machine.start()
    await cluster.done(machine.name, FIRST)


async def test_the_journal_of_a_newer_version_is_left_alone(cluster: Cluster, machine: Machine) -> None:
    await joined(cluster, machine)
    await machine.stop()
    newer = b'{"kind":"begin","version":99}'
    line = msgspec.json.encode(Line(sum=checksum(newer), record=msgspec.Raw(newer)))
    machine.root.write(JOURNAL, line + b"\n", mode=0o600)
    await machine.start()
    reason = await cluster.degraded(machine.name, "the journal has version 99")
    assert "newer version" in reason
    machine.root.remove(JOURNAL)
    await cluster.done(machine.name, FIRST)


def _listening(path: Path) -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    channel.bind(str(path))
    channel.settimeout(5)
    return channel


async def test_the_service_manager_hears_of_it(tmp_path: Path) -> None:
    with _listening(tmp_path / "notify") as channel:
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000"}
        notifier = Notifier(environ)
        notifier.ready()
        notifier.status("on\nsomething")
        notifier.status("on\nsomething")
        alive = asyncio.create_task(notifier.keep_alive(SystemClock()))
        heard = [await asyncio.to_thread(channel.recv, 100) for _ in range(4)]
        alive.cancel()
    assert heard == [b"READY=1", b"STATUS=on something", b"WATCHDOG=1", b"WATCHDOG=1"]


async def test_a_cancelled_call_to_the_machine_waits_for_its_end() -> None:
    ended = []

    def action(worker: Worker, begun: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(begun.set)
        while not worker.stopping:
            pass
        ended.append(True)

    async with Worker() as worker:
        begun = asyncio.Event()
        call = asyncio.create_task(worker(action, worker, begun, asyncio.get_running_loop()))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert ended == [True]


async def test_two_files_of_one_update_fail_as_one(cluster: Cluster, machine: Machine) -> None:
    """A file below a file of the machine: the reason names the path, and nothing is left."""
    await joined(cluster, machine)
    before = tree(machine)
    wrong = config("below", files=[file("/etc/new", "x"), file("/etc/passwd/x", "x")])
    await cluster.create(wrong)
    await cluster.target(machine.name, wrong)
    await cluster.degraded(machine.name, "/etc/passwd/x")
    assert tree(machine) == before
