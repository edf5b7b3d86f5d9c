"""A directory-rooted host whose config server comes late says what it waits for, and goes on by itself."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from mco.fleet.folders import open_folders
from mco.fleet.instance import Instance
from mco.lab.events import MachineEvent, State
from tests.lab.server import ConfigServer


async def test_a_config_server_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    heard: asyncio.Queue[MachineEvent] = asyncio.Queue()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = ConfigServer("127.0.0.1", {"ignition": {"version": "3.4.0"}}, port)
    async with open_folders(Instance("one", tmp_path / "one"), heard.put_nowait) as hosts:
        hosts.start("worker-1", server.source())
        async with asyncio.timeout(30):
            while not (event := await heard.get()).message:
                pass
        assert event.state is State.PROVISIONING
        assert "the config server does not answer" in event.message
        assert not (tmp_path / "one/machines/worker-1/root").exists()
        async with server.serving(tmp_path), asyncio.timeout(30):
            while (await heard.get()).state is not State.BOOTING:
                pass
        assert (tmp_path / "one/machines/worker-1/root/etc/hostname").read_text() == "worker-1\n"
