"""Lets machines in: signs their certificates and gives a new Node its role (design.md 10, identity).

Runs where there is no kubelet and no controller-manager that would do it: beside the embedded API server,
whose certificate authority it holds.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from mco.api import bootstraptokens, resources
from mco.api.bootstraptokens import BootstrapToken
from mco.api.core import CertificateSigningRequest, Node, Secret
from mco.base.errors import InvalidInput
from mco.kube.client import Client
from mco.kube.events import Recorder
from mco.kube.informer import Informer
from mco.pki import requests
from mco.pki.authority import Authority
from mco.plan.pool import join
from mco.plan.pool.join import Verdict
from mco.runtime.clock import Clock, rfc3339


class JoinController:
    """`reconcile_request` takes a CertificateSigningRequest's name, `reconcile_node` a Node's."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        authority: Authority,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        self.requests = Informer(client, resources.CERTIFICATE_SIGNING_REQUESTS)
        self.secrets = Informer(client, resources.SECRETS, namespace=bootstraptokens.NAMESPACE)
        self._client = client
        self._nodes = nodes
        self._authority = authority
        self._recorder = recorder
        self._clock = clock

    async def reconcile_request(self, name: str) -> float | None:
        request = self.requests.store.get(name)
        if request is None:
            return None
        if join.mine(request):
            await self._answer(request)
        elif _approved(request) and not request.status.certificate:
            await self._sign(request)
        return None

    async def reconcile_node(self, name: str) -> float | None:
        """A Node without any role gets that of the token with which its machine joined."""
        node = self._nodes.store.get(name)
        if node is None or join.has_role(node):
            return None
        pool = self._pool_of(name)
        if pool:
            labels = dict(join.role_labels(pool))
            await self._client.patch(resources.NODES, name, {"metadata": {"labels": labels}})
        return None

    def node_of(self, request: CertificateSigningRequest) -> str:
        """The node that a request is about, empty if it cannot be read."""
        try:
            return requests.node_of(requests.parse(_pem(request)))
        except InvalidInput:
            return ""

    async def _answer(self, request: CertificateSigningRequest) -> None:
        try:
            node_name = requests.node_of(requests.parse(_pem(request)))
            existing = self._nodes.store.get(node_name)
            verdict = join.judge(request, node_name, self._tokens(), existing)
        except InvalidInput as error:
            verdict = Verdict(False, "Malformed", error.message)
        condition = {
            "type": "Approved" if verdict.approved else "Denied",
            "status": "True",
            "reason": verdict.reason,
            "message": verdict.message,
            "lastUpdateTime": rfc3339(self._clock.now()),
        }
        await self._patch(request, "approval", {"conditions": [condition]})
        kind = "Normal" if verdict.approved else "Warning"
        self._recorder.event(request, kind, f"Certificate{condition['type']}", verdict.message)

    async def _sign(self, request: CertificateSigningRequest) -> None:
        certificate = requests.sign_node_csr(self._authority, _pem(request), self._clock.now())
        await self._patch(request, "status", {"certificate": base64.b64encode(certificate).decode()})

    async def _patch(
        self, request: CertificateSigningRequest, subresource: str, status: dict[str, Any]
    ) -> None:
        body = {"metadata": {"resourceVersion": request.metadata.resource_version}, "status": status}
        await self._client.patch(
            resources.CERTIFICATE_SIGNING_REQUESTS, request.name, body, subresource=subresource
        )

    def _tokens(self) -> dict[str, BootstrapToken]:
        now = self._clock.now()
        tokens = (_token(secret) for secret in self.secrets.store.values())
        return {t.id: t for t in tokens if t and t.pool and not t.expired(now)}

    def _pool_of(self, node: str) -> str:
        """The pool of the token with which the node's first certificate was asked for."""
        tokens = {t.id: t for secret in self.secrets.store.values() if (t := _token(secret))}
        for request in self.requests.store.values():
            token = tokens.get(request.spec.username.removeprefix(join.BOOTSTRAP_USER))
            if token and _approved(request) and self.node_of(request) == node:
                return token.pool
        return ""


def _token(secret: Secret) -> BootstrapToken | None:
    if not secret.name.startswith(bootstraptokens.NAME_PREFIX):
        return None
    try:
        return bootstraptokens.from_secret(secret)
    except InvalidInput:
        return None


def _approved(request: CertificateSigningRequest) -> bool:
    kinds = {condition.type for condition in request.status.conditions}
    return "Approved" in kinds and "Denied" not in kinds


def _pem(request: CertificateSigningRequest) -> bytes:
    try:
        return base64.b64decode(request.spec.request, validate=True)
    except binascii.Error as error:
        raise InvalidInput("the request is not base64") from error
