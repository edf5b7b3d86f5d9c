"""A machine becomes its config before its systemd starts, through the real Ignition engine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mco.lab.events import MachineEvent, State
from mco.lab.instance import open_lab
from mco.lab.machine import Machine
from tests.lab.configs import greeting
from tests.lab.server import ConfigServer

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


async def _said(machine: Machine, *argv: str) -> str:
    return (await machine.exec(argv)).check().text


async def test_first_boot_fetches_with_the_machines_own_token_and_applies(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data") as lab:
        server = ConfigServer(lab.network.host_address, greeting())
        async with server.serving(tmp_path):
            machine = lab.machine("worker-0", server.source())
            machine.start()
            await machine.running()

        (request,) = server.requests
        assert request["Authorization"] == "Bearer secret-of-this-machine"
        assert "application/vnd.coreos.ignition+json;version=3.3.0" in request["Accept"]

        assert await _said(machine, "cat", "/etc/greeting") == "Hello, world!"
        assert await _said(machine, "stat", "--format=%a %U:%G", "/etc/greeting") == "640 root:core"
        assert await _said(machine, "systemctl", "is-enabled", "greet.service") == "enabled"
        assert await _said(machine, "systemctl", "is-active", "greet.service") == "active"
        assert "MORE=yes" in await _said(machine, "systemctl", "show", "-p", "Environment", "greet.service")
        keys = "/home/core/.ssh/authorized_keys.d/ignition"
        assert await _said(machine, "stat", "--format=%a %U", keys) == "600 core"
        assert await _said(machine, "systemctl", "is-system-running") == "running"
        assert (
            await _said(machine, "uname", "-n") == await _said(machine, "cat", "/etc/hostname") == "worker-0"
        )
        assert machine.address in await _said(machine, "ip", "-4", "-brief", "address", "show", "host0")
        # The token is on no disk any more.
        assert not (machine.disk.folder / "ignition").exists()


async def test_the_program_runs_in_a_machine(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data") as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        assert (await _said(machine, "/opt/mco/bin/mco", "version")).startswith("mco ")
        imports = (
            "import sys; sys.path.insert(0, '/opt/mco/site-packages'); import aiohttp, cryptography, msgspec"
        )
        assert await _said(machine, "python3", "-ISc", imports) == ""
        assert (await machine.exec(["touch", "/opt/mco/x"])).code != 0


async def test_a_refused_machine_tries_again_until_it_is_let_in(tmp_path: Path) -> None:
    events: list[MachineEvent] = []
    async with open_lab("one", tmp_path / "data", listen=events.append) as lab:
        server = ConfigServer(lab.network.host_address, greeting())
        server.status = 404
        async with server.serving(tmp_path):
            machine = lab.machine("worker-0", server.source())
            machine.start()
            await machine.until(lambda machine: "Ignition failed in stage fetch" in machine.message)
            assert machine.state is State.PROVISIONING
            server.status = 200
            await machine.running()
        assert await _said(machine, "cat", "/etc/greeting") == "Hello, world!"
    assert [event.state for event in events][-1] is State.STOPPED


async def test_a_config_server_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data") as lab:
        server = ConfigServer(lab.network.host_address, greeting())
        machine = lab.machine("worker-0", server.source())
        machine.start()
        await machine.until(lambda machine: "waiting for the config server" in machine.message)
        async with server.serving(tmp_path):
            await machine.running()


async def test_a_server_with_another_certificate_is_not_trusted(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data") as lab:
        server = ConfigServer(lab.network.host_address, greeting())
        stranger = ConfigServer(lab.network.host_address, greeting())
        async with stranger.serving(tmp_path):
            machine = lab.machine("worker-0", server.source())
            machine.start()
            await machine.until(lambda machine: "x509" in machine.message)
        assert stranger.requests == []


async def test_an_authorized_key_opens_the_machine(tmp_path: Path) -> None:
    key = tmp_path / "key"
    keygen = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)
    )
    assert await keygen.wait() == 0
    async with open_lab("one", tmp_path / "data") as lab:
        server = ConfigServer(lab.network.host_address, greeting(key.with_suffix(".pub").read_text().strip()))
        async with server.serving(tmp_path):
            machine = lab.machine("worker-0", server.source())
            machine.start()
            await machine.running()
        options = ("BatchMode=yes", "StrictHostKeyChecking=no", f"UserKnownHostsFile={tmp_path / 'known'}")
        ssh = await asyncio.create_subprocess_exec(
            *("ssh", "-i", str(key), *(word for option in options for word in ("-o", option))),
            *(f"core@{machine.address}", "id -un; uname -n"),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await ssh.communicate()
        assert out.decode().split() == ["core", "worker-0"]
