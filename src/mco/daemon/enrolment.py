"""Asking for a node's certificate: a key that never leaves the machine, a request named after it, and an
answer that somebody else gives."""

from __future__ import annotations

import asyncio
import base64
import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mco.api import names
from mco.api.core import CertificateSigningRequest
from mco.api.meta import conditions as cond
from mco.api.resources import CERTIFICATE_SIGNING_REQUESTS
from mco.base.errors import InvalidInput
from mco.daemon.identity import Denied
from mco.host.root import Root
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.errors import AlreadyExists
from mco.kube.informer import Informer
from mco.pki import keys, kubeconfig, requests
from mco.pki.authority import Pair
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.enrolment")

KEY_FILE = f"{names.STATE_FOLDER}/pki/node.key"
_USAGES = ("digital signature", "client auth")


async def enrol(client: Client, cluster: Cluster, root: Root, node: str, machine_id: str) -> bytes:
    """The node's kubeconfig, as soon as somebody has signed. Raises Denied, and what the client raises."""
    key = _key(root)
    pem = requests.create_for_node(key, node)
    name = _request_name(key)
    body = {
        "metadata": {"name": name, "annotations": {names.MACHINE_ID: machine_id}},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": requests.NODE_SIGNER,
            "usages": list(_USAGES),
        },
    }
    try:
        await client.create(CERTIFICATE_SIGNING_REQUESTS, body)
    except AlreadyExists:
        _log.info("going on with an earlier request", request=name)
    issued = await _issued(client, name)
    return kubeconfig.with_certificate(
        cluster.server,
        cluster.ca.read(),
        requests.NODE_USER_PREFIX + node,
        Pair(issued, keys.to_pem(key)),
    )


def _key(root: Root) -> ec.EllipticCurvePrivateKey:
    """The key of a request that was begun before, or a new one."""
    raw = root.read_optional(KEY_FILE)
    if raw is not None:
        try:
            return keys.from_pem(raw, KEY_FILE)
        except InvalidInput:
            _log.warning("the key of an earlier request is damaged", path=KEY_FILE)
    key = keys.generate()
    root.write(KEY_FILE, keys.to_pem(key), mode=0o600, dir_mode=0o700)
    return key


def _request_name(key: ec.EllipticCurvePrivateKey) -> str:
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return f"node-csr-{hashlib.sha256(public).hexdigest()[:32]}"


async def _issued(client: Client, name: str) -> bytes:
    """PEM of the certificate, once it is there. Raises Denied."""
    outcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def look(_: CertificateSigningRequest | None, new: CertificateSigningRequest | None) -> None:
        if new is None or outcome.done():
            return
        if problem := _refusal(new):
            outcome.set_exception(problem)
        elif new.status.certificate:
            outcome.set_result(base64.b64decode(new.status.certificate))

    informer = Informer(client, CERTIFICATE_SIGNING_REQUESTS, field_selector=f"metadata.name={name}")
    informer.add_handler(look)
    following = asyncio.create_task(informer.run())
    try:
        return await outcome
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _refusal(request: CertificateSigningRequest) -> Denied | None:
    for type_ in ("Denied", "Failed"):
        found = cond.find(request.status.conditions, type_)
        if found is not None and found.status != cond.FALSE:
            return Denied(
                f"the certificate signing request {request.name} was {type_.lower()}: "
                f"{found.message or found.reason or 'no reason given'}",
                subject=f"CertificateSigningRequest/{request.name}",
                hint="delete the request after removing its cause; the node then asks again",
            )
    return None
