"""A node without a kubelet: the daemon makes the Node, renews its Lease and reports it Ready (design.md 10).

Roles are never set here: a node does not choose its pool.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import OwnerReference
from mco.api.resources import NODES
from mco.base.errors import MCOError
from mco.host.machine import Host
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.kube.lease import NodeLease
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.registration")

ARCH_LABEL = "kubernetes.io/arch"
READY = "Ready"
_READY_REASON = "MachineConfigDaemonReady"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Facts(msgspec.Struct, frozen=True):
    """What the Node says about its machine."""

    hostname: str
    machine_id: str
    boot_id: str
    os_image: str
    kernel: str
    architecture: str


def facts(host: Host) -> Facts:
    machine = platform.machine()
    return Facts(
        hostname=host.hostname(),
        machine_id=host.machine_id(),
        boot_id=host.boot_id(),
        os_image=host.identity.os_release().pretty_name,
        kernel=host.identity.kernel_release(),
        architecture=_ARCHITECTURES.get(machine, machine),
    )


class Registration:
    """`initial` are annotations that a new Node starts with."""

    def __init__(
        self,
        client: Client,
        name: str,
        facts_: Facts,
        clock: Clock,
        initial: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._name = name
        self._facts = facts_
        self._clock = clock
        self._initial = dict(initial or {})

    async def register(self) -> Node:
        """Makes the Node or brings its labels up to date, and reports it Ready unless it counts as that: then
        its `news` can wait for the next report. Raises what the client raises."""
        try:
            node = await self._client.get(NODES, self._name)
        except NotFoundError:
            node = await self._create()
        lacking = {key: value for key, value in self._labels().items() if node.metadata.label(key) != value}
        if lacking:
            node = await self._client.patch(NODES, self._name, {"metadata": {"labels": lacking}})
        if cond.is_true(node.status.conditions, READY):
            return node
        return await self._client.patch(
            NODES, self._name, {"status": self._status(node)}, subresource="status"
        )

    def news(self, node: Node) -> dict[str, Any] | None:
        """The status of a Node that has not heard of this boot, None when it has."""
        facts_, known = self._facts, node.status.node_info
        told = (known.machine_id, known.boot_id, known.os_image)
        return None if told == (facts_.machine_id, facts_.boot_id, facts_.os_image) else self._status(node)

    async def report_ready(self, node: Node) -> None:
        """Says so again when somebody (who saw no renewal for a while) has said otherwise. Never raises: the
        next change of the Node asks again."""
        _log.info("reporting the node ready again", node=self._name)
        status = {"conditions": self._conditions(node)}
        try:
            await self._client.patch(NODES, self._name, {"status": status}, subresource="status")
        except MCOError as error:
            _log.warning("the node was not reported ready", error=str(error))

    def lease(self, node: Node) -> NodeLease:
        owner = OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.metadata.uid)
        return NodeLease(self._client, self._name, owner=owner, clock=self._clock)

    async def _create(self) -> Node:
        metadata = {"name": self._name, "labels": self._labels(), "annotations": self._initial}
        try:
            node = await self._client.create(NODES, {"metadata": metadata})
        except AlreadyExists:
            return await self._client.get(NODES, self._name)
        _log.info("node registered", node=self._name)
        return node

    def _labels(self) -> dict[str, str]:
        return {
            names.HOSTNAME_LABEL: self._facts.hostname,
            names.OS_LABEL: "linux",
            ARCH_LABEL: self._facts.architecture,
        }

    def _status(self, node: Node) -> dict[str, Any]:
        return {
            "nodeInfo": {
                "machineID": self._facts.machine_id,
                "systemUUID": self._facts.machine_id,
                "bootID": self._facts.boot_id,
                "kernelVersion": self._facts.kernel,
                "osImage": self._facts.os_image,
                "operatingSystem": "linux",
                "architecture": self._facts.architecture,
                "containerRuntimeVersion": "",
                "kubeletVersion": "",
                "kubeProxyVersion": "",
            },
            "conditions": self._conditions(node),
        }

    def _conditions(self, node: Node) -> list[Any]:
        now = rfc3339(self._clock.now())
        ready = Condition(
            type=READY, status=cond.TRUE, reason=_READY_REASON, message="the daemon renews the node's lease"
        )
        listed = [msgspec.to_builtins(c) for c in cond.set_condition(node.status.conditions, ready, now)]
        for condition in listed:
            if condition["type"] == READY:
                condition["lastHeartbeatTime"] = now
        return listed
