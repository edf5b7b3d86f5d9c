"""Machines come in with a token, get a certificate for their own name, and the role of their pool."""

from __future__ import annotations

import base64

import pytest

from mco.api import bootstraptokens, names, resources
from mco.api.bootstraptokens import BootstrapToken
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import Forbidden
from mco.pki import keys, kubeconfig, requests
from mco.pki.authority import Pair
from tests.controllers.fleet import Fleet

TOKEN = BootstrapToken(id="abcdef", secret="0123456789abcdef", pool="worker")


async def ask(fleet: Fleet, token: BootstrapToken, node: str, request: str = "csr-1") -> bytes:
    """Asks for a certificate with the token, as a machine's first boot does; returns its private key."""
    await fleet.client.create(
        resources.SECRETS, bootstraptokens.to_secret(token), namespace=bootstraptokens.NAMESPACE
    )
    ca = (fleet.folder / "ca.crt").read_bytes()
    text = kubeconfig.with_token(fleet.server, ca, "kubelet", token.text)
    path = fleet.folder / f"bootstrap-{token.id}"
    path.write_bytes(text)
    key = keys.generate()
    pem = requests.create_for_node(key, node)
    body = {
        "metadata": {"name": request, "annotations": {names.MACHINE_ID: "m1"}},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": requests.NODE_SIGNER,
            "usages": ["digital signature", "client auth"],
        },
    }
    async with Client(load(path)) as client:
        await client.create(resources.CERTIFICATE_SIGNING_REQUESTS, body)
    return keys.to_pem(key)


async def answered(fleet: Fleet, request: str = "csr-1") -> tuple[str, str, bytes]:
    """The verdict's type and reason, and the certificate."""
    found = await fleet.client.get(resources.CERTIFICATE_SIGNING_REQUESTS, request)
    version = found.metadata.resource_version
    async for event in fleet.client.watch(
        resources.CERTIFICATE_SIGNING_REQUESTS, resource_version=str(int(version) - 1)
    ):
        status = event.object.status
        denied = any(c.type == "Denied" for c in status.conditions)
        if denied or status.certificate:
            verdict = status.conditions[0]
            return verdict.type, verdict.reason, base64.b64decode(status.certificate or "")
    raise AssertionError("the request was not answered")


async def test_a_token_becomes_a_certificate_for_one_node(fleet: Fleet) -> None:
    key = await ask(fleet, TOKEN, "w1")
    kind, reason, certificate = await answered(fleet)
    assert (kind, reason) == ("Approved", "AutoApproved")
    ca = (fleet.folder / "ca.crt").read_bytes()
    path = fleet.folder / "node"
    path.write_bytes(kubeconfig.with_certificate(fleet.server, ca, "w1", Pair(certificate, key)))
    async with Client(load(path)) as node:
        await node.create(resources.NODES, {"metadata": {"name": "w1"}})
        with pytest.raises(Forbidden):
            await node.create(resources.NODES, {"metadata": {"name": "w2"}})
        with pytest.raises(Forbidden):
            await node.list(resources.SECRETS, namespace=bootstraptokens.NAMESPACE)
        await fleet.until(lambda: has_role(fleet, "w1", "worker"), "the role of the token's pool")
        role = {"metadata": {"labels": {f"{names.NODE_ROLE_PREFIX}master": ""}}}
        with pytest.raises(Forbidden):
            await node.patch(resources.NODES, "w1", role)


def has_role(fleet: Fleet, node: str, role: str) -> bool:
    found = fleet.nodes.store.get(node)
    return found is not None and found.metadata.label(f"{names.NODE_ROLE_PREFIX}{role}") is not None


async def test_a_token_for_another_machine_is_denied(fleet: Fleet) -> None:
    token = BootstrapToken(id="ghijkl", secret="0123456789abcdef", pool="worker", machine="w7")
    await ask(fleet, token, "w1")
    assert (await answered(fleet))[:2] == ("Denied", "ForeignToken")


async def test_a_name_that_a_living_machine_has_is_taken(fleet: Fleet) -> None:
    await fleet.node("w1", "worker")
    info = {"nodeInfo": {"machineID": "other"}}
    await fleet.client.patch(resources.NODES, "w1", {"status": info}, subresource="status")
    await fleet.until(
        lambda: (n := fleet.nodes.store.get("w1")) is not None and n.status.node_info.machine_id == "other",
        "machine id",
    )
    await ask(fleet, TOKEN, "w1")
    assert (await answered(fleet))[:2] == ("Denied", "NameTaken")
