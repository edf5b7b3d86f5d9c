"""Machines that boot while the pool's config changes under them (spec/operator.md 0.1)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from mco.api import names
from mco.api.resources import MACHINE_CONFIGS
from mco.configserver.negotiate import SERVED
from mco.ignition import dataurl
from tests.configserver.clients import Answer, ask, connected
from tests.configserver.installation import files, installation

IGNITION = "application/vnd.coreos.ignition+json;version="
PATIENCE = 60.0


def name_of(answer: Answer) -> str:
    assert answer.status == 200
    entry = files(answer.body)[names.NODE_ANNOTATIONS_FILE]
    annotations = msgspec.json.decode(dataurl.decode(entry["contents"]["source"]))
    return str(annotations[names.CURRENT_CONFIG])


class Booting:
    """Machines that ask one after another; `seen` is what they were served, each change of it once."""

    def __init__(self, port: int, version: str) -> None:
        self._port = port
        self._version = version
        self.seen: list[str] = []
        self._changed = asyncio.Event()

    async def run(self) -> None:
        async with connected(self._port) as wire:
            while True:
                answer = await wire.ask("GET", "/config/worker", Accept=IGNITION + self._version)
                name = name_of(answer)
                if self.seen[-1:] != [name]:
                    self.seen.append(name)
                    self._changed.set()

    async def until(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.seen[-1:] != [name]:
                self._changed.clear()
                await self._changed.wait()


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
async def test_every_request_is_answered_while_configs_come_and_go(tmp_path: Path, lost: bool) -> None:
    """With a config that was the pool's at some time, in the order in which they were; one that is deleted
    right after is served on, or never was."""
    configs = [f"rendered-worker-{number}" for number in range(1, 9)]
    async with installation(tmp_path) as cluster, cluster.config_server() as ports:
        booting = [Booting(ports.insecure, version) for version in ("3.2.0", "3.5.0")]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(machine.run()) for machine in booting]
            for name in configs[1:]:
                await cluster.machine_config(name)
                await cluster.pool("worker", name)
                if lost and name != configs[-1]:
                    await cluster.client.delete(MACHINE_CONFIGS, name)
            for machine in booting:
                await machine.until(configs[-1])
            for task in tasks:
                task.cancel()
    for machine in booting:
        assert machine.seen == sorted(machine.seen)
        assert set(machine.seen) <= set(configs)


async def test_without_the_api_every_version_is_answered(tmp_path: Path) -> None:
    """Also those that nobody has asked for yet: no request needs the API."""
    async with installation(tmp_path) as cluster:
        serving = cluster.config_server()
        ports = await serving.__aenter__()
    try:
        for version in SERVED:
            answer = await ask(ports.insecure, "GET", "/config/worker", None, Accept=IGNITION + version)
            assert name_of(answer) == "rendered-worker-1"
    finally:
        await serving.__aexit__(None, None, None)
