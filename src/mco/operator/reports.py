"""One MachineConfigNode per Node, owned by it (spec/operator.md 1.9, spec/node.md 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfignode import UPDATE_HOLD, MachineConfigNode
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.kube.informer import Informer
from mco.operator import objects
from mco.plan.pool.membership import Memberships


class Reports:
    """Keeps the MachineConfigNodes equal to the Nodes; `reconcile` takes a node's name. `hold` says why a
    node must not be told to move, in no words when it may."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        reports: Informer[MachineConfigNode],
        pools: Informer[MachineConfigPool],
        hold: Callable[[str], str] = lambda node: "",
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._reports = reports
        self._pools = pools
        self._hold = hold
        self._memberships = Memberships()

    async def reconcile(self, name: str) -> float | None:
        """Creates, corrects or deletes the report of node `name`."""
        node, report = self._nodes.store.get(name), self._reports.store.get(name)
        if node is None or node.metadata.deletion_timestamp:
            if report is not None and node is None:
                await self._delete(report)
            return None
        if not has_report(node):
            return None
        pool = self._pool_of(node)
        if report is None:
            await self._create(node, pool)
        elif patch := correction(node, pool, report, self._hold(name)):
            patch.setdefault("metadata", {})["resourceVersion"] = report.metadata.resource_version
            await self._client.patch(resources.MACHINE_CONFIG_NODES, name, patch)
        return None

    def _pool_of(self, node: Node) -> str:
        """A node in two custom pools is in none until somebody decides."""
        try:
            return self._memberships.by(self._pools.store.values()).primary(node) or names.NOT_YET_SET
        except InvalidInput:
            return names.NOT_YET_SET

    async def _create(self, node: Node, pool: str) -> None:
        try:
            await self._client.create(resources.MACHINE_CONFIG_NODES, objects.machine_config_node(node, pool))
        except AlreadyExists:
            return

    async def _delete(self, report: MachineConfigNode) -> None:
        """A report that changed since it was looked at may be that of a new Node of the same name."""
        meta = report.metadata
        try:
            await self._client.delete(
                resources.MACHINE_CONFIG_NODES,
                report.name,
                uid=meta.uid,
                resource_version=meta.resource_version,
            )
        except NotFoundError:
            return


def has_report(node: Node) -> bool:
    """Machines that are not nodes yet have none."""
    return node.status.phase not in ("Pending", "Provisioning")


def correction(node: Node, pool: str, report: MachineConfigNode, hold: str = "") -> dict[str, Any]:
    """The merge patch that restores node, pool and owner, and fills a desired config that was never set; an
    existing desired config belongs to the node controller (spec/node.md 5.1). `hold` is what its annotation
    shall say."""
    wanted = objects.machine_config_node(node, pool)
    spec: dict[str, Any] = {}
    if report.spec.node.name != node.name:
        spec["node"] = wanted["spec"]["node"]
    if report.spec.pool.name != pool:
        spec["pool"] = wanted["spec"]["pool"]
    desired = wanted["spec"]["configVersion"]["desired"]
    if report.spec.config_version.desired == names.NOT_YET_SET != desired:
        spec["configVersion"] = {"desired": desired}
    patch: dict[str, Any] = {"spec": spec} if spec else {}
    metadata: dict[str, Any] = {}
    owners = report.metadata.owner_references or ()
    if not any(ref.kind == "Node" and ref.uid == node.metadata.uid for ref in owners):
        metadata["ownerReferences"] = wanted["metadata"]["ownerReferences"]
    if (report.metadata.annotation(UPDATE_HOLD) or "") != hold:
        metadata["annotations"] = {UPDATE_HOLD: hold or None}
    return patch | ({"metadata": metadata} if metadata else {})
