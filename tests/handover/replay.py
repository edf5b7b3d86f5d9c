"""Plays the report of a slow hand-over again (spec/operator.md 0.2).

Version A leads with the permissions of the old ServiceAccount; the payload of version B is applied, which
brings B a ServiceAccount of its own and removes A's permissions. There is no kubelet: the processes are
started and stopped as the Deployment's strategy says.
"""

from __future__ import annotations

import asyncio
import contextlib
from importlib import resources as files
from pathlib import Path
from typing import Any

import msgspec

from mco.api import names
from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.kube.wholes import Wholes
from mco.payload import manifest
from mco.payload.apply import Pace, apply
from mco.payload.graph import Mode
from mco.payload.manifest import DELETE, Manifest
from mco.pki import kubeconfig
from mco.runtime.clock import SystemClock
from tests.handover.component import CLUSTER_OPERATOR
from tests.handover.processes import COMPONENT, LEADS, PATIENCE, WAITS, Running, Starter, durations, processes
from tests.servers.real import RealServer

LEASE = 6.0
_APPS, _RBAC = "apps/v1", "rbac.authorization.k8s.io/v1"
_VERSION = "app.kubernetes.io/version"
OLD, NEW = "default", "machine-config-operator"
OLD_BINDING = "default-account-openshift-machine-config-operator"
NEW_BINDING = "custom-account-openshift-machine-config-operator"
DEPLOYMENTS: Resource[Object] = Resource("apps", "v1", "deployments", "Deployment", Object, True)
BINDINGS: Resource[Object] = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", Object, False
)
RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "patch"],
    },
    {
        "apiGroups": ["config.openshift.io"],
        "resources": ["clusteroperators", "clusteroperators/status"],
        "verbs": ["get", "patch"],
    },
]


class Faults(msgspec.Struct, frozen=True):
    """What the report found: the run-level at which A's permissions go, and an overlap of the processes."""

    deletion: str = "0000_90_machine-config_90_deletion.yaml"
    strategy: str = "Recreate"


NONE = Faults()
BOTH = Faults("0000_80_machine-config_03_deletion.yaml", "RollingUpdate")


def payload(version: str, faults: Faults) -> list[Manifest]:
    """In the order of the file names. Only B removes something."""
    binding = _binding(OLD_BINDING, OLD) if version == "A" else _binding(NEW_BINDING, NEW)
    role = {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": {"name": "handover"}, "rules": RULES}
    found = {
        "0000_80_machine-config_00_account.yaml": _account(OLD if version == "A" else NEW),
        "0000_80_machine-config_00_role.yaml": role,
        "0000_80_machine-config_00_rolebinding.yaml": binding,
        "0000_80_machine-config_04_deployment.yaml": _deployment(version, faults.strategy),
        "0000_80_machine-config_06_clusteroperator.yaml": _cluster_operator(version),
    }
    if version == "B":
        found[faults.deletion] = _binding(OLD_BINDING, OLD, **{DELETE: "true"})
    return [Manifest(file, 1, found[file]) for file in sorted(found)]


def _account(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": names.NAMESPACE}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _binding(name: str, account: str, **annotations: str) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": names.NAMESPACE}
    return {
        "apiVersion": _RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "annotations": annotations},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "handover"},
        "subjects": [subject],
    }


def _deployment(version: str, strategy: str) -> dict[str, Any]:
    labels = {"k8s-app": NEW}
    container = {"name": "operator", "image": f"localhost/mco:{version}"}
    return {
        "apiVersion": _APPS,
        "kind": "Deployment",
        "metadata": {"name": NEW, "namespace": names.NAMESPACE, "labels": {_VERSION: version}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "strategy": {"type": strategy},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _cluster_operator(version: str) -> dict[str, Any]:
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {"name": "machine-config"},
        "spec": {},
        "status": {"versions": [{"name": "operator", "version": version}]},
    }


class Node:
    """Runs what the Deployment says, each version as its own ServiceAccount."""

    def __init__(
        self, server: RealServer, client: Client, starter: Starter, folder: Path, strategy: str
    ) -> None:
        self._server = server
        self._client = client
        self._starter = starter
        self._folder = folder
        self._strategy = strategy
        self.running: dict[str, Running] = {}

    async def follow(self) -> None:
        versions: asyncio.Queue[str] = asyncio.Queue()

        def seen(_: Object | None, new: Object | None) -> None:
            if new is not None and (version := new.metadata.label(_VERSION)):
                versions.put_nowait(version)

        informer = Informer(self._client, DEPLOYMENTS, namespace=names.NAMESPACE)
        informer.add_handler(seen)
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.run())
            while True:
                version = await versions.get()
                if version not in self.running:
                    await self._roll_out(version)

    async def _roll_out(self, version: str) -> None:
        old = list(self.running.values())
        if self._strategy == "RollingUpdate":
            # A surge of one: the old process is stopped when the new one is up.
            await (await self._start(version)).said(WAITS)
        for process in old:
            process.terminate()
        if self._strategy == "Recreate":
            for process in old:
                await process.ended()
            await self._start(version)

    async def _start(self, version: str) -> Running:
        account = OLD if version == "A" else NEW
        way = self._folder / version
        ca = self._server.authority.certificate_pem
        way.write_bytes(kubeconfig.with_token(self._server.url, ca, account, await self._token(account)))
        self.running[version] = await self._starter.start(COMPONENT, way, f"--version={version}")
        return self.running[version]

    async def _token(self, account: str) -> str:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/{names.NAMESPACE}/serviceaccounts/{account}/token"
        answer = msgspec.json.decode(await self._client.request("POST", path, body=body))
        return str(answer["status"]["token"])


class Removal:
    """`revision` is when A's permissions went."""

    def __init__(self) -> None:
        self.revision = 0

    async def follow(self, client: Client, start: str) -> None:
        async with contextlib.aclosing(client.watch(BINDINGS, resource_version=start)) as events:
            async for event in events:
                if event.type == "DELETED" and event.object.name == OLD_BINDING:
                    self.revision = int(event.resource_version)
                    return


async def _applied(objects: Wholes, manifests: list[Manifest], mode: Mode) -> None:
    pace = Pace(first_wait=0.1, poll=0.05, gate=PATIENCE)
    await apply(manifests, objects, mode, SystemClock(), lambda _: None, pace=pace)


async def _removed(objects: Wholes, manifests: list[Manifest]) -> None:
    for each in manifests:
        with contextlib.suppress(NotFoundError):
            await objects.delete(each.body)


async def _kind_of_cluster_operators(objects: Wholes) -> None:
    folder = files.files("mco.payload") / "manifests"
    (file,) = [entry for entry in folder.iterdir() if entry.name.endswith("clusteroperators.crd.yaml")]
    (definition,) = manifest.read({file.name: file.read_bytes()})
    await _applied(objects, [definition], Mode.INITIALIZING)


class Story(msgspec.Struct, frozen=True):
    """`took`: seconds from B being ready to B leading. `safe`: A's permissions went after B had reported its
    version."""

    took: float
    safe: bool


async def replay(server: RealServer, admin: Client, folder: Path, faults: Faults) -> Story:
    objects, removal = Wholes(admin), Removal()
    await _kind_of_cluster_operators(objects)
    a, b = payload("A", faults), payload("B", faults)
    async with processes(durations(LEASE, 5, 1)) as starter:
        node = Node(server, admin, starter, folder, faults.strategy)
        async with asyncio.TaskGroup() as group:
            playing = group.create_task(node.follow())
            await _applied(objects, a, Mode.INITIALIZING)
            start = (await admin.list(BINDINGS)).resource_version
            removing = group.create_task(removal.follow(admin, start))
            await _applied(objects, b, Mode.UPDATING)
            await removing
            playing.cancel()
        took = await node.running["B"].said(LEADS) - await node.running["B"].said(WAITS)
    reported = msgspec.json.decode(await admin.request("GET", CLUSTER_OPERATOR))
    await _removed(objects, [*a, *b])
    assert reported["status"]["versions"] == [{"name": "operator", "version": "B"}]
    return Story(took, removal.revision > int(reported["metadata"]["resourceVersion"]))
