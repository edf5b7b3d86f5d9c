"""`mco prune rendered`: what it says, and what it removes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from mco.api import names, resources
from mco.apiserver.server import Settings, running
from mco.cli.prune import command
from mco.kube.client import Client
from mco.kube.config import load
from mco.runtime.clock import SystemClock
from tests.inprocess import in_process
from tests.installed import installed
from tests.rendered import metadata, name_of

Prune = Callable[..., Awaitable[list[str]]]
LAST_YEAR = datetime.now(UTC) - timedelta(days=365)
SPEC = {"config": {"ignition": {"version": "3.5.0"}}}
TARGET = name_of(5)


class LastYear(SystemClock):
    """Each object is a minute younger than the one before."""

    def __init__(self) -> None:
        self.made = 0

    def now(self) -> datetime:
        self.made += 1
        return LAST_YEAR + timedelta(minutes=self.made)


@pytest.fixture
async def prune(tmp_path: Path) -> AsyncIterator[tuple[Prune, Client]]:
    """Five configs of pool worker, two of master; the newest of worker is its target."""
    async with in_process(tmp_path / "api", LastYear()) as client:
        await installed(client)
        for pool, count in (("worker", 5), ("master", 2)):
            owner = await client.get(resources.MACHINE_CONFIG_POOLS, pool)
            for number in range(1, count + 1):
                named = metadata(name_of(number, pool), pool, uid=owner.metadata.uid)
                body = {"metadata": named, "spec": SPEC}
                await client.create(resources.MACHINE_CONFIGS, body)
        target = {"spec": {"configuration": {"name": TARGET}}}
        await client.patch(resources.MACHINE_CONFIG_POOLS, "worker", target)
    settings = Settings(data_dir=tmp_path / "api")
    async with running(settings) as api, Client(load(api.kubeconfig)) as client:

        async def call(*words: str) -> list[str]:
            arguments = ["rendered", *words, f"--kubeconfig={api.kubeconfig}"]
            result = await asyncio.to_thread(CliRunner().invoke, command, arguments)
            assert result.exception is None, result.output
            return result.output.splitlines()

        yield call, client


async def left(client: Client) -> list[str]:
    found = (await client.list(resources.MACHINE_CONFIGS)).items
    return sorted(config.name for config in found if config.name.startswith(names.RENDERED_PREFIX))


async def test_without_confirmation_it_only_says(prune: tuple[Prune, Client]) -> None:
    call, client = prune
    said = await call("--keep-newest=1", "--pool-name=worker")
    assert said[0].startswith("Dry run enabled - no modifications will be made. Add --confirm")
    assert said[1:] == [
        *(f"dry-run deleting rendered MachineConfig {name_of(n)}" for n in range(1, 5)),
        f"keeping rendered MachineConfig {TARGET}: PoolSpec (worker), Newest",
    ]
    assert len(await left(client)) == 7


async def test_the_oldest_go_as_many_as_were_asked_for(prune: tuple[Prune, Client]) -> None:
    call, client = prune
    said = await call("--keep-newest=0", "--pool-name=worker", "--count=2", "--confirm")
    assert said == [
        f"deleting rendered MachineConfig {name_of(1)}",
        f"deleting rendered MachineConfig {name_of(2)}",
        f"keeping rendered MachineConfig {TARGET}: PoolSpec (worker)",
        "2 more could be removed",
    ]
    masters = [name_of(n, "master") for n in (1, 2)]
    assert await left(client) == [*masters, *(name_of(n) for n in (3, 4, 5))]


async def test_what_came_into_use_meanwhile_is_kept(prune: tuple[Prune, Client]) -> None:
    call, client = prune
    body = {"metadata": {"name": names.IN_USE_MAP}, "data": {name_of(1): "node w1"}}
    await client.create(resources.CONFIG_MAPS, body, namespace=names.NAMESPACE)
    said = await call("--keep-newest=4", "--pool-name=worker", "--confirm")
    assert said[0] == f"deleting rendered MachineConfig {name_of(1)}"
    assert f"{name_of(1)} is in use by node w1" in said[1]
    assert len(await left(client)) == 7


async def test_the_list_says_why_each_one_stays(prune: tuple[Prune, Client]) -> None:
    call, _ = prune
    said = await call("list", "--keep-newest=1")
    assert said[0] == "master" and said[3:5] == ["", "worker"]
    assert said[1].startswith(f"{name_of(1, 'master')} -- ") and said[1].endswith("(Currently in use: false)")
    assert said[-1].endswith("(Currently in use: true): PoolSpec (worker), Newest")
    in_use = await call("list", "--in-use", "--pool-name=worker")
    assert [line.split(" -- ")[0] for line in in_use] == ["worker", TARGET]
