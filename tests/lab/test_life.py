"""A machine's life after its first boot: reboots, crashes, stops, and being found again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mco.base.errors import Conflict, Unavailable
from mco.lab.instance import open_lab, purge
from mco.lab.paths import instance_folder
from tests.lab.configs import greeting
from tests.lab.server import ConfigServer

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

_ENTRY = (
    "title next\\nversion 2\\nlinux /vmlinuz\\noptions root=LABEL=root rw quiet\\noptions mitigations=off\\n"
)


async def test_a_reboot_boots_the_default_entry_with_a_new_boot_id(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machine = lab.machine("worker-0", None, arguments="first=1")
        machine.start()
        await machine.running()
        before = await machine.boot_id()
        assert (await machine.exec(["cat", "/proc/cmdline"])).text.endswith("root=LABEL=root rw first=1")

        write = f"cd /boot/loader; printf '{_ENTRY}' >entries/next.conf; echo 'default next' >loader.conf"
        (await machine.exec(["sh", "-c", write])).check()
        (await machine.exec(["touch", "/var/tmp/stays", "/run/goes"])).check()
        await machine.exec(["systemctl", "reboot"])
        await machine.running(boots=2)

        assert await machine.boot_id() != before
        assert (await machine.exec(["cat", "/proc/cmdline"])).text == (
            "BOOT_IMAGE=/vmlinuz root=LABEL=root rw quiet mitigations=off"
        )
        assert (await machine.exec(["test", "-e", "/var/tmp/stays"])).code == 0
        assert (await machine.exec(["test", "-e", "/run/goes"])).code == 1


async def test_a_machine_without_a_boot_entry_fails_and_says_so(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        (await machine.exec(["sh", "-c", "rm /boot/loader/entries/*"])).check()
        await machine.exec(["systemctl", "reboot"])
        with pytest.raises(Unavailable, match="the machine is failed: the machine has no boot entry"):
            await machine.running(boots=2)


async def test_a_crashed_machine_starts_again(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        before = await machine.boot_id()
        await machine.crash()
        await machine.running(boots=2)
        assert await machine.boot_id() != before

        await machine.crash(restart=False)
        assert machine.state == "crashed"
        with pytest.raises(Unavailable, match="the machine is not running"):
            await machine.exec(["true"])
        machine.start()
        await machine.running(boots=3)
        with pytest.raises(Conflict, match="the machine is started already"):
            machine.start()
        await machine.poweroff()
        assert machine.state == "stopped"


async def test_three_machines_boot_at_once_and_see_each_other(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machines = [lab.machine(f"worker-{number}", None) for number in range(3)]
        for machine in machines:
            machine.start()
        await asyncio.gather(*(machine.running() for machine in machines))
        assert len({await machine.boot_id() for machine in machines}) == 3
        ids = {(await machine.exec(["cat", "/etc/machine-id"])).text for machine in machines}
        assert len(ids) == 3
        for other in (lab.network.host_address, *(machine.address for machine in machines[1:])):
            script = f"import socket; socket.create_connection(('{other}', 22), 5)"
            found = await machines[0].exec(["python3", "-c", script])
            # Nobody has to listen on the host: a refusal comes from there as well.
            assert found.code == 0 or b"Connection refused" in found.stderr


async def test_a_command_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data", throw_away=True) as lab:
        machine = lab.machine("worker-0", None)
        machine.start()
        await machine.running()
        with pytest.raises(Unavailable, match=r"sleep has not ended after 0\.2 s"):
            await machine.exec(["sleep", "1000"], timeout=0.2)
        found = await machine.exec(["cat"], stdin=b"from outside")
        assert (found.code, found.stdout) == (0, b"from outside")


async def test_a_kept_instance_is_found_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with open_lab("one", data) as lab:
        server = ConfigServer(lab.network.host_address, greeting())
        async with server.serving(tmp_path):
            machine = lab.machine("worker-0", server.source())
            machine.start()
            await machine.running()
        (await machine.exec(["touch", "/etc/written"])).check()
        source, address = server.source(), machine.address

    async with open_lab("one", data) as lab:
        assert lab.known() == ["worker-0"]
        machine = lab.machine("worker-0", source)  # nobody serves it any more
        assert machine.address == address
        machine.start()
        await machine.running()
        assert (await machine.exec(["test", "-e", "/etc/written"])).code == 0
        assert (await machine.exec(["cat", "/etc/greeting"])).text == "Hello, world!"

    await purge("one")
    assert not instance_folder("one").exists()
    assert not (data / "machines").exists()


async def test_two_instances_side_by_side(tmp_path: Path) -> None:
    async with open_lab("one", tmp_path / "data-one", throw_away=True) as one:
        first = one.machine("worker-0", None)
        first.start()
        async with open_lab("two", tmp_path / "data-two", throw_away=True) as two:
            second = two.machine("worker-0", None)
            second.start()
            await asyncio.gather(first.running(), second.running())
            assert one.network.subnet != two.network.subnet
            assert await first.boot_id() != await second.boot_id()
            with pytest.raises(Conflict, match='instance "one" runs already'):
                async with open_lab("one", tmp_path / "data-three"):
                    pass
        assert (await first.exec(["systemctl", "is-system-running"])).text == "running"
        assert first.boots == 1
