"""Decisions on a cache that lags behind (design.md 4: deterministic names instead of read-your-writes is not
enough where a count must not be exceeded)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.api.core import Node
from mco.api.crds import definitions
from mco.apiserver.server import Settings, running
from mco.controllers.caches import Caches
from mco.controllers.node import NodeController
from mco.kube.client import Client
from mco.kube.config import load
from tests.controllers.fleet import HandClock
from tests.controllers.stage import Events


def marks(current: str, desired: str, state: str) -> dict[str, str]:
    return {names.CURRENT_CONFIG: current, names.DESIRED_CONFIG: desired, names.STATE: state}


async def make(client: Client, name: str) -> Node:
    labels = {f"{names.NODE_ROLE_PREFIX}worker": ""}
    metadata: dict[str, Any] = {"name": name, "labels": labels, "annotations": marks("V0", "V0", "Done")}
    return await client.create(resources.NODES, {"metadata": metadata})


async def test_a_node_that_was_just_sent_off_counts_before_the_cache_knows(tmp_path: Path) -> None:
    async with running(Settings(data_dir=tmp_path)) as api, Client(load(api.kubeconfig)) as client:
        for body in definitions():
            await client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        spec = {
            "machineConfigSelector": {"matchLabels": {names.ROLE_LABEL: "worker"}},
            "nodeSelector": {"matchLabels": {f"{names.NODE_ROLE_PREFIX}worker": ""}},
            "configuration": {"name": "V1"},
        }
        body = {"metadata": {"name": "worker"}, "spec": spec}
        caches = Caches(client)
        caches.pools.store.put(await client.create(resources.MACHINE_CONFIG_POOLS, body))
        for name in ("a", "b"):
            caches.nodes.store.put(await make(client, name))
        controller = NodeController(client, caches, Events(), HandClock())
        await controller.reconcile("worker")
        # The cache has not heard of a's target; b, which failed on something older, would now go first.
        failed = {"metadata": {"annotations": marks("V0", "V0.5", "Degraded")}}
        caches.nodes.store.put(await client.patch(resources.NODES, "b", failed))
        await controller.reconcile("worker")
        desired = {
            node.name: node.metadata.annotation(names.DESIRED_CONFIG)
            for node in (await client.list(resources.NODES)).items
        }
    assert desired == {"a": "V1", "b": "V0.5"}
