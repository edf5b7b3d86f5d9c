"""Completing a first boot (spec/daemon.md 1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.base.errors import InvalidInput, MCOError
from mco.daemon import firstboot, observe
from mco.daemon.perform import Failed
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from tests.daemon.builders import config
from tests.daemon.cluster import Cluster
from tests.daemon.machine import Machine


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FakeMachine]:
    machine = FakeMachine.create(tmp_path / "m")
    yield machine
    machine.close()


def encapsulate(machine: FakeMachine, body: dict[str, Any]) -> bytes:
    raw = msgspec.json.encode(body)
    machine.root.write(names.ENCAPSULATED_FILE, raw, mode=0o600)
    return raw


def test_nothing_left_over_is_complete(host: FakeMachine) -> None:
    assert not firstboot.complete(host.host)


def test_nothing_to_do_means_no_reboot_and_no_record(host: FakeMachine) -> None:
    encapsulate(host, config("1"))
    assert not firstboot.complete(host.host)
    assert not host.root.exists(names.ENCAPSULATED_FILE)
    assert not host.root.exists(firstboot.BACKUP)
    assert not host.root.exists(names.CURRENT_CONFIG_FILE)
    assert host.boots == 1


def test_arguments_that_run_already_need_no_reboot(host: FakeMachine) -> None:
    encapsulate(host, config("1", arguments=["quiet"]))
    assert not firstboot.complete(host.host)
    assert host.boots == 1


def test_kernel_arguments_reboot_once(host: FakeMachine) -> None:
    raw = encapsulate(host, config("1", arguments=["demo=1", "other"]))
    assert firstboot.complete(host.host)
    assert host.boots == 2
    assert host.host.kernel.running()[-2:] == ("demo=1", "other")
    assert not host.root.exists(names.ENCAPSULATED_FILE)
    assert host.root.read(firstboot.BACKUP) == raw
    assert host.root.read(names.CURRENT_CONFIG_FILE) == raw
    assert not firstboot.complete(host.host)


def test_a_failure_leaves_the_old_entry_and_can_be_repeated(host: FakeMachine) -> None:
    encapsulate(host, config("1", arguments=["demo=1"]))
    host.root.remove("/boot/loader/loader.conf")
    host.root.write("/boot/loader/loader.conf/in-the-way", b"")
    with pytest.raises(Failed, match=r"/boot/loader/loader\.conf"):
        firstboot.complete(host.host)
    assert host.root.exists(names.ENCAPSULATED_FILE)
    assert host.root.list("/boot/loader/entries") == ["debian.conf"]
    host.root.remove_tree("/boot/loader/loader.conf")
    host.root.write("/boot/loader/loader.conf", b"default debian.conf\n")
    assert firstboot.complete(host.host)
    assert "demo=1" in host.host.kernel.running()


def test_a_damaged_file_is_named(host: FakeMachine) -> None:
    host.root.write(names.ENCAPSULATED_FILE, b"{", mode=0o600)
    with pytest.raises(InvalidInput) as caught:
        firstboot.complete(host.host)
    assert caught.value.path == names.ENCAPSULATED_FILE


def test_a_machine_in_the_wrong_fips_mode_stays(host: FakeMachine) -> None:
    host.root.write("/proc/sys/crypto/fips_enabled", b"0\n")
    encapsulate(host, config("1", fips=True))
    with pytest.raises(MCOError, match="detected change to FIPS flag"):
        firstboot.complete(host.host)
    assert host.root.exists(names.ENCAPSULATED_FILE)


class _PowerLoss(Exception):
    pass


class _LosesPower(Journal):
    """Everything is on the disk, and the machine is never asked to reboot."""

    def rebooting(self, boot_id: str) -> None:
        raise _PowerLoss


def test_power_lost_before_the_reboot(host: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    encapsulate(host, config("1", arguments=["demo=1"]))
    monkeypatch.setattr(firstboot, "Journal", _LosesPower)
    with pytest.raises(_PowerLoss):
        firstboot.complete(host.host)
    monkeypatch.undo()
    host.boot()
    assert not firstboot.complete(host.host)
    assert "demo=1" in host.host.kernel.running()
    found = observe.disk(host.host, Journal(host.root)).transaction
    assert found is not None
    assert found.new == "rendered-worker-1"


@pytest.mark.asyncio(loop_scope="module")
async def test_the_daemon_verifies_what_first_boot_did(cluster: Cluster, machine: Machine) -> None:
    body = config("firstboot", arguments=["demo=1"])
    await cluster.create(body)
    await cluster.report_of(machine.name)
    machine.serve(config("firstboot"))
    encapsulate(machine.machine, body)
    journal_left = firstboot.complete(machine.machine.host)
    machine.boot()
    assert journal_left
    await machine.start()
    await cluster.done(machine.name, body)
    assert machine.reboots == 0
    assert "kernelArguments" in machine.read(names.CURRENT_CONFIG_FILE)
