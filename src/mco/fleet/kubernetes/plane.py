"""The control plane of a real Kubernetes, as supervised processes of one instance.

It listens where the machines' bridge ends, on port 443: that address is also the first one of the service
range, which is the API server's. So pods reach it as in any cluster, without anything that would have to turn
service addresses into others.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from mco.api import bootstraptokens, resources
from mco.base.errors import MCOError
from mco.configserver.tokens import new_token
from mco.fleet.components import Component, running
from mco.fleet.instance import Instance
from mco.fleet.patience import patiently
from mco.fleet.starting import listening, until
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import AlreadyExists
from mco.lab.kubernetes.controlplane import MASTERS, ControlPlane
from mco.lab.kubernetes.programs import Programs
from mco.lab.network import Network
from mco.pki import authority as pki
from mco.pki import files, kubeconfig
from mco.runtime.clock import SystemClock

PORT = 443
_SERVICES_LENGTH = 29
"""The smallest range that an API server takes; machines begin behind it."""
# A kube-apiserver that is asked to stop waits a minute for watches; etcd keeps the data.
_STOP_SECONDS = 3.0
_RBAC = "rbac.authorization.k8s.io"
_USERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("mco:admin", (MASTERS,)),
    "controller-manager": ("system:kube-controller-manager", ()),
    "scheduler": ("system:kube-scheduler", ()),
}
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class KubernetesPlane:
    """Made by `kubernetes_plane`; `client` is an administrator's."""

    def __init__(self, instance: Instance, server: str, ca: bytes, client: Client) -> None:
        self.instance = instance
        self.server = server
        self.ca = ca
        self.client = client

    async def bootstrap_kubeconfig(self) -> bytes:
        """With a token with which kubelets ask for their certificates, for a day."""
        token = new_token("nodes", SystemClock().now(), timedelta(hours=24), "")
        secret = bootstraptokens.to_secret(token)
        create = partial(self.client.create, resources.SECRETS, secret, namespace=bootstraptokens.NAMESPACE)
        with contextlib.suppress(AlreadyExists):
            await patiently(create)
        return kubeconfig.with_token(self.server, self.ca, "bootstrap", token.text, cluster="lab")


@contextlib.asynccontextmanager
async def kubernetes_plane(
    instance: Instance, network: Network, programs: Programs
) -> AsyncIterator[KubernetesPlane]:
    """Runs it until the block ends; yields when the API server is ready and its namespaces are there. Raises
    Unavailable, with the end of its log, when a program does not come up."""
    plane = _plane(instance, network, programs)
    ca = _prepare(instance, plane)
    async with running([_component(instance, "etcd", plane.etcd())]) as (etcd,):
        await until(listening("127.0.0.1", plane.etcd_port), etcd)
        async with (
            running([_api_server(instance, plane)]) as (server,),
            Client(load(instance.kubeconfig), user_agent="mco-up") as client,
        ):
            await until(_complete(client), server)
            async with running(_others(instance, plane)):
                await _let_nodes_in(client)
                yield KubernetesPlane(instance, plane.url, ca, client)


def _plane(instance: Instance, network: Network, programs: Programs) -> ControlPlane:
    etcd_port, peer_port = _free_ports(2)
    services = ipaddress.IPv4Network((network.host_address, _SERVICES_LENGTH), strict=False)
    return ControlPlane(
        programs=programs,
        folder=instance.api,
        address=network.host_address,
        port=PORT,
        etcd_port=etcd_port,
        peer_port=peer_port,
        services=str(services),
    )


def _prepare(instance: Instance, plane: ControlPlane) -> bytes:
    """Keys and identities; answers the authority's PEM."""
    files.private_folder(instance.api)
    signer = pki.load_or_create(instance.api, "lab", SystemClock().now())
    names = (plane.address, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    plane.write_keys(signer, names, SystemClock())
    for name, (user, groups) in _USERS.items():
        pair = signer.client(user, groups, SystemClock().now())
        text = kubeconfig.with_certificate(plane.url, signer.certificate_pem, user, pair, cluster="lab")
        files.write(instance.kubeconfig if name == "admin" else instance.identity / name, text)
    return signer.certificate_pem


def _api_server(instance: Instance, plane: ControlPlane) -> Component:
    return _component(instance, "kube-apiserver", plane.apiserver(*plane.towards_kubelets()))


def _others(instance: Instance, plane: ControlPlane) -> list[Component]:
    manager = plane.controller_manager(instance.identity / "controller-manager", *plane.signing())
    scheduler = plane.scheduler(instance.identity / "scheduler")
    return [
        _component(instance, "kube-controller-manager", manager),
        _component(instance, "kube-scheduler", scheduler),
    ]


def _component(instance: Instance, name: str, argv: tuple[str, ...]) -> Component:
    return Component(name, argv, instance.logs / f"{name}.log", ours=False, patience=_STOP_SECONDS)


async def _complete(client: Client) -> AsyncIterator[bool]:
    while True:
        try:
            for path in ("/readyz", *(resources.NAMESPACES.path(name) for name in _NAMESPACES)):
                await client.request("GET", path)
            yield True
        except MCOError:
            yield False


async def _let_nodes_in(client: Client) -> None:
    """Whoever has a bootstrap token may ask for a certificate, and the controller manager signs it, and later
    the next one."""
    bootstrappers, requests = "system:bootstrappers", "system:certificates.k8s.io:certificatesigningrequests"
    for name, role, group in (
        ("lab-bootstrap", "system:node-bootstrapper", bootstrappers),
        ("lab-approve", f"{requests}:nodeclient", bootstrappers),
        ("lab-renew", f"{requests}:selfnodeclient", "system:nodes"),
    ):
        body = _binding(name, role, group)
        with contextlib.suppress(AlreadyExists):
            await patiently(
                partial(client.request, "POST", f"/apis/{_RBAC}/v1/clusterrolebindings", body=body)
            )


def _binding(name: str, role: str, group: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
    }


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
