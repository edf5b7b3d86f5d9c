"""Who the node is to the API server: a client certificate of its own (design.md 10, identity).

First boot brings a kubeconfig with a bootstrap token. With it the daemon asks for a certificate over a key
that never leaves the machine, waits until somebody approves, and keeps the result as the node's kubeconfig,
0600. The key is on the disk before the request is sent, and the request is named after the key: a restart
anywhere in between goes on with the same one. At 70 % of the certificate's life a new one is asked for with
the old one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mco.api import names
from mco.api.core import CertificateSigningRequest
from mco.api.meta import conditions as cond
from mco.api.resources import CERTIFICATE_SIGNING_REQUESTS
from mco.base.errors import InvalidInput, MCOError
from mco.host.root import Root
from mco.kube import config as kubeconfigs
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.errors import AlreadyExists
from mco.kube.informer import Informer
from mco.pki import keys, kubeconfig, requests
from mco.pki.authority import Pair
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.identity")

KEY_FILE = f"{names.STATE_FOLDER}/pki/node.key"
RENEW_AT = 0.7
_RECHECK = 3600.0
_USAGES = ("digital signature", "client auth")


class Denied(MCOError):
    """Somebody decided that this machine is not that node; a person has to look at it."""


class Certificate(msgspec.Struct, frozen=True):
    """When the node's own certificate begins and ends, and for whom it is."""

    user: str
    begins: datetime
    ends: datetime

    def renewal(self) -> datetime:
        return self.begins + (self.ends - self.begins) * RENEW_AT

    def lasts(self, now: datetime) -> bool:
        """A clock that stands before the beginning says nothing about the end."""
        return now < self.ends


def load(root: Root, path: str) -> Cluster | None:
    """The cluster of a kubeconfig on the machine, None when there is none. Raises InvalidInput."""
    raw = root.read_optional(path)
    if raw is None:
        return None
    return kubeconfigs.resolve(kubeconfigs.merge([kubeconfigs.parse(raw, Path(path))]))


def certificate(cluster: Cluster) -> Certificate | None:
    """Of a node's own kubeconfig; None when it proves itself in another way."""
    pem = cluster.user.certificate.read() if cluster.user.certificate else b""
    if not pem:
        return None
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None
    users = found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    user = str(users[0].value) if users else ""
    return Certificate(user, found.not_valid_before_utc, found.not_valid_after_utc)


class NodeIdentity:
    """Finds or makes the kubeconfig of the node called `name`. `machine_id` goes with every request: a name
    that another living machine has is not given away."""

    def __init__(self, root: Root, name: str, machine_id: str, clock: Clock) -> None:
        self._root = root
        self._name = name
        self._machine_id = machine_id
        self._clock = clock

    async def obtain(self, *, fresh: bool = False) -> Cluster:
        """The node's own identity; asks for one where there is none that lasts, or, with `fresh`, because the
        server does not accept it any more. Raises InvalidInput without any kubeconfig, Denied, and what the
        client raises."""
        own = self._own()
        if own is not None and not (fresh and self._root.exists(names.KUBECONFIG_FILE)):
            return own
        bootstrap = load(self._root, names.KUBECONFIG_FILE)
        if bootstrap is None:
            raise InvalidInput(
                "the node has no kubeconfig",
                path=names.KUBECONFIG_FILE,
                hint="let the machine boot with a config of the config server, or pass --kubeconfig",
            )
        _log.info("asking for a certificate", node=self._name)
        async with Client(bootstrap, user_agent="mco-daemon") as client:
            return await self._request(client, bootstrap)

    async def renewed(self, client: Client, cluster: Cluster) -> Cluster:
        """Returns with a new identity when the present one is old enough; never for one that has no
        certificate of ours."""
        while True:
            found = certificate(cluster)
            if found is None:
                await asyncio.Event().wait()
                continue
            wait = (found.renewal() - self._clock.now()) / timedelta(seconds=1)
            if wait <= 0:
                try:
                    return await self._request(client, cluster)
                except Denied:
                    raise
                except MCOError as error:
                    _log.warning("certificate not renewed", node=self._name, error=str(error))
                    wait = 60.0
            # In pieces: the wall clock may be set meanwhile.
            await self._clock.sleep(min(wait, _RECHECK))

    def _own(self) -> Cluster | None:
        try:
            cluster = load(self._root, names.NODE_KUBECONFIG_FILE)
        except InvalidInput as error:
            _log.warning("the node's kubeconfig is damaged, asking for a new one", error=str(error))
            return None
        if cluster is None:
            return None
        found = certificate(cluster)
        if found is None:
            return cluster
        if not found.lasts(self._clock.now()) and self._root.exists(names.KUBECONFIG_FILE):
            _log.warning("the node's certificate has expired", node=self._name)
            return None
        return cluster

    async def _request(self, client: Client, cluster: Cluster) -> Cluster:
        key = self._key()
        pem = requests.create_for_node(key, self._name)
        name = _request_name(key)
        body = {
            "metadata": {"name": name, "annotations": {names.MACHINE_ID: self._machine_id}},
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
        raw = kubeconfig.with_certificate(
            cluster.server,
            cluster.ca.read(),
            requests.NODE_USER_PREFIX + self._name,
            Pair(issued, keys.to_pem(key)),
        )
        self._root.write(names.NODE_KUBECONFIG_FILE, raw, mode=0o600, dir_mode=0o755)
        self._root.remove(KEY_FILE)
        _log.info("certificate received", node=self._name)
        found = load(self._root, names.NODE_KUBECONFIG_FILE)
        if found is None:
            raise InvalidInput("the node's kubeconfig vanished", path=names.NODE_KUBECONFIG_FILE)
        return found

    def _key(self) -> ec.EllipticCurvePrivateKey:
        """The key of a request that was begun before, or a new one."""
        raw = self._root.read_optional(KEY_FILE)
        if raw is not None:
            try:
                return keys.from_pem(raw, KEY_FILE)
            except InvalidInput:
                _log.warning("the key of an earlier request is damaged", path=KEY_FILE)
        key = keys.generate()
        self._root.write(KEY_FILE, keys.to_pem(key), mode=0o600, dir_mode=0o700)
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
