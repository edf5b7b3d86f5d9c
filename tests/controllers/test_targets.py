"""What is written on a node and its report, when somebody else has a say in them too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mco.api import names, resources
from mco.api.crds import definitions
from mco.api.machineconfignode import MachineConfigNode
from mco.apiserver.server import Settings, running
from mco.controllers.targets import Targets
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.informer import Informer
from mco.operator.objects import machine_config_node
from mco.plan.pool.nodes import UPDATE_TAINT
from mco.plan.pool.rollout import Change, Rollout

THEIRS = {"key": "dedicated", "value": "db", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}


class Pair:
    """A node, its report, and who writes them, with what its cache had heard of the report at first."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._reports = Informer(client, resources.MACHINE_CONFIG_NODES)
        self._targets = Targets(client, self._reports, lambda node: None)

    async def make(self) -> None:
        metadata: dict[str, Any] = {"name": "w0", "annotations": {names.DESIRED_CONFIG: "v0"}}
        self.node = await self.client.create(
            resources.NODES, {"metadata": metadata, "spec": {"taints": [THEIRS]}}
        )
        body = machine_config_node(self.node, "worker")
        self._reports.store.put(await self.client.create(resources.MACHINE_CONFIG_NODES, body))

    async def write(self, **change: Any) -> None:
        _, error = await self._targets.apply(
            Rollout(config="v1", changes=(Change(node=self.node, **change),))
        )
        assert error is None
        self.node = await self.client.get(resources.NODES, "w0")

    async def aim(self, config: str) -> MachineConfigNode:
        """Somebody else's."""
        spec = {"spec": {"configVersion": {"desired": config}}}
        return await self.client.patch(resources.MACHINE_CONFIG_NODES, "w0", spec)

    async def target(self) -> str:
        return (await self.client.get(resources.MACHINE_CONFIG_NODES, "w0")).spec.config_version.desired


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with running(Settings(data_dir=tmp_path)) as api, Client(load(api.kubeconfig)) as client:
        for body in definitions():
            await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        made = Pair(client)
        await made.make()
        yield made


async def test_taints_of_others_stay_as_they_are(pair: Pair) -> None:
    await pair.write(taint=True)
    assert list(pair.node.spec.taints or ()) == [THEIRS, UPDATE_TAINT]
    await pair.write(taint=False)
    assert list(pair.node.spec.taints or ()) == [THEIRS]


async def test_a_report_shows_where_its_node_goes(pair: Pair) -> None:
    await pair.write(target=True)
    assert await pair.target() == pair.node.metadata.annotation(names.DESIRED_CONFIG) == "v1"


async def test_a_target_that_was_decided_on_something_old_is_not_shown(pair: Pair) -> None:
    """The report says the same again, but for another reason."""
    for config in ("v2", "v0"):
        await pair.aim(config)
    await pair.write(target=True)
    assert await pair.target() == "v0"
