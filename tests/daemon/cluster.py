"""A cluster for one node: the embedded API server, what an operator installs, and the drain controller."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from mco.api import names
from mco.api.bootstraptokens import BootstrapToken, to_secret
from mco.api.core import Node
from mco.api.crds import definitions
from mco.api.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    MACHINE_CONFIG_NODES,
    MACHINE_CONFIGS,
    MACHINE_CONFIGURATIONS,
    NAMESPACES,
    NODES,
    SECRETS,
)
from mco.apiserver import server
from mco.controllers.drain import DrainController
from mco.controllers.join import JoinController
from mco.kube import config as kubeconfigs
from mco.kube.client import Client
from mco.kube.config import Cluster as Address
from mco.kube.errors import AlreadyExists
from mco.kube.events import Recorder
from mco.kube.informer import Informer
from mco.kube.reconcile import Reconciler
from mco.operator import policies
from mco.pki import authority, kubeconfig
from mco.runtime.clock import SystemClock

PATIENCE = 60.0


class Cluster:
    """`client` is an admin's. `states`: the values that each node's state annotation took, in order."""

    def __init__(self, client: Client, address: Address, kubeconfig: Path) -> None:
        self.client = client
        self.address = address
        self.kubeconfig = kubeconfig
        self.nodes = Informer(client, NODES)
        self.reports = Informer(client, MACHINE_CONFIG_NODES)
        self.events = Informer(client, EVENTS, namespace=names.NAMESPACE)
        self._changed = asyncio.Event()
        self.states: dict[str, list[str]] = {}
        self.nodes.add_handler(self._node_changed)
        self.reports.add_handler(lambda *_: self._changed.set())
        self.events.add_handler(lambda *_: self._changed.set())

    def _node_changed(self, _: Node | None, new: Node | None) -> None:
        if new is not None:
            states = self.states.setdefault(new.name, [""])
            state = new.metadata.annotation(names.STATE) or ""
            if states[-1] != state:
                states.append(state)
        self._changed.set()

    async def create(self, *configs: Mapping[str, Any]) -> None:
        """Configs of the same name are the same: another test may have made one."""
        for body in configs:
            with contextlib.suppress(AlreadyExists):
                await self.client.create(MACHINE_CONFIGS, body)

    async def target(self, node: str, config: Mapping[str, Any]) -> None:
        """Do what the node controller does: aim the node at a config."""
        annotations = {names.DESIRED_CONFIG: config["metadata"]["name"]}
        await self.client.patch(NODES, node, {"metadata": {"annotations": annotations}})

    async def report_of(self, node: str) -> None:
        """Do what the operator does: make the node's MachineConfigNode."""
        body = {
            "metadata": {"name": node},
            "spec": {
                "node": {"name": node},
                "pool": {"name": "worker"},
                "configVersion": {"desired": names.NOT_YET_SET},
            },
        }
        await self.client.create(MACHINE_CONFIG_NODES, body)

    def annotation(self, node: str, key: str) -> str:
        found = self.nodes.store.get(node)
        return (found.metadata.annotation(key) or "") if found else ""

    def reported(self, node: str) -> str:
        """The current config by the node's MachineConfigNode."""
        found = self.reports.store.get(node)
        return found.status.config_version.current if found else ""

    def condition(self, node: str, type_: str) -> str:
        found = self.reports.store.get(node)
        conditions = found.status.conditions if found else ()
        return next((c.status for c in conditions if c.type == type_), "")

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Waits for something of Nodes and MachineConfigNodes to hold."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            found = {n.name: n.metadata.annotations for n in self.nodes.store.values()}
            raise AssertionError(f"{what} did not happen; nodes: {found}") from error

    async def done(self, node: str, config: Mapping[str, Any]) -> None:
        name = config["metadata"]["name"]
        await self.until(
            lambda: (
                self.annotation(node, names.CURRENT_CONFIG) == name
                and self.annotation(node, names.STATE) == names.STATE_DONE
                and self.condition(node, "Updated") == "True"
                and self.reported(node) == name
            ),
            f"{node} Done with {name}",
        )

    async def degraded(self, node: str, part: str, state: str = names.STATE_DEGRADED) -> str:
        await self.until(
            lambda: (
                self.annotation(node, names.STATE) == state and part in self.annotation(node, names.REASON)
            ),
            f"{node} {state} with {part!r}",
        )
        return self.annotation(node, names.REASON)

    async def bootstrap_kubeconfig(self, machine: str, *, secret: str = "0123456789abcdef") -> bytes:
        """What the config server leaves on a machine: a token with which it may ask for a certificate."""
        token = BootstrapToken(
            id=hashlib.sha256(machine.encode()).hexdigest()[:6], secret=secret, pool="worker"
        )
        body = to_secret(token)
        with contextlib.suppress(AlreadyExists):
            await self.client.create(SECRETS, body, namespace=body["metadata"]["namespace"])
        return kubeconfig.with_token(self.address.server, self.address.ca.read(), "kubelet", token.text)

    def reasons(self, node: str) -> set[str]:
        """Reasons of the events on a node that are there by now."""
        return {e.reason for e in self.events.store.values() if e.involved_object.name == node}

    async def event(self, node: str, reason: str) -> None:
        await self.until(lambda: reason in self.reasons(node), f"event {reason} on {node}")

    def get(self, node: str) -> Node:
        return self.nodes.store.get(node) or Node()


async def _install(client: Client) -> None:
    """The part of an installation that a daemon depends on."""
    for body in definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    await client.create(NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
    made = await client.create(
        MACHINE_CONFIGURATIONS,
        {"metadata": {"name": names.MACHINE_CONFIGURATION}, "spec": {"managementState": "Managed"}},
    )
    await policies.keep(client, made)


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Cluster]:
    async with server.running(server.Settings(data_dir=folder)) as api:
        address = kubeconfigs.load(api.kubeconfig)
        async with Client(address) as client:
            clock = SystemClock()
            await _install(client)
            cluster = Cluster(client, address, api.kubeconfig)
            recorder = Recorder(client, "controller", names.NAMESPACE)
            drain = DrainController(client, cluster.nodes, cluster.reports, recorder, clock)
            loop = Reconciler("drain", drain.reconcile)
            cluster.nodes.add_handler(loop.changed)
            signer = authority.load(folder / "ca.crt", folder / "ca.key")
            join = JoinController(client, cluster.nodes, signer, recorder, clock)
            requests = Reconciler("join", join.reconcile_request)
            running = (cluster.nodes, cluster.reports, cluster.events, loop)
            parts = [asyncio.create_task(part.run()) for part in running]
            join.requests.add_handler(requests.changed)
            parts += [asyncio.create_task(part.run()) for part in (join.requests, requests)]
            try:
                yield cluster
            finally:
                for part in parts:
                    part.cancel()
                await asyncio.gather(*parts, return_exceptions=True)
