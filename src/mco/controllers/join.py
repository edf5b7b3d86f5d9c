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
from mco.api.core import CertificateSigningRequest, Node
from mco.base.errors import InvalidInput
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.events import EventSink
from mco.kube.informer import Informer
from mco.pki import requests
from mco.pki.authority import Authority
from mco.plan.pool import join
from mco.plan.pool.join import Verdict
from mco.runtime.clock import Clock, rfc3339

_BY_NODE = "node"


class JoinController:
    """`reconcile_request` takes a CertificateSigningRequest's name, `reconcile_node` a Node's."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        authority: Authority,
        events: EventSink,
        clock: Clock,
    ) -> None:
        self.requests = Informer(
            client,
            resources.CERTIFICATE_SIGNING_REQUESTS,
            indexers={_BY_NODE: lambda request: [node_of(request)]},
        )
        self._client = client
        self._nodes = nodes
        self._authority = authority
        self._events = events
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
        pool = await self._pool_of(name)
        if pool:
            version = node.metadata.resource_version
            metadata = {"resourceVersion": version, "labels": dict(join.role_labels(pool))}
            await self._client.patch(resources.NODES, name, {"metadata": metadata})
        return None

    async def _answer(self, request: CertificateSigningRequest) -> None:
        try:
            node_name = requests.node_of(requests.parse(_pem(request)))
            existing = self._nodes.store.get(node_name)
            verdict = join.judge(request, node_name, await self._valid_token(request), existing)
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
        self._events.event(request, kind, f"Certificate{condition['type']}", verdict.message)

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

    async def _valid_token(self, request: CertificateSigningRequest) -> dict[str, BootstrapToken]:
        """The token that the request was made with, by its id, if it can still be used."""
        token = await self._token(request)
        if token is None or not token.pool or token.expired(self._clock.now()):
            return {}
        return {token.id: token}

    async def _pool_of(self, node: str) -> str:
        """The pool of the token with which the node's first certificate was asked for."""
        for request in self.requests.store.index(_BY_NODE, node):
            if _approved(request) and (token := await self._token(request)):
                return token.pool
        return ""

    async def _token(self, request: CertificateSigningRequest) -> BootstrapToken | None:
        """Asked for, not cached: a token that was made a moment ago must be known."""
        user = request.spec.username
        if not user.startswith(join.BOOTSTRAP_USER):
            return None
        name = bootstraptokens.NAME_PREFIX + user.removeprefix(join.BOOTSTRAP_USER)
        try:
            secret = await self._client.get(resources.SECRETS, name, namespace=bootstraptokens.NAMESPACE)
            return bootstraptokens.from_secret(secret)
        except (NotFoundError, InvalidInput):
            return None


def node_of(request: CertificateSigningRequest) -> str:
    """The node that a request is about, empty if it cannot be read."""
    try:
        return requests.node_of(requests.parse(_pem(request)))
    except InvalidInput:
        return ""


def _approved(request: CertificateSigningRequest) -> bool:
    kinds = {condition.type for condition in request.status.conditions}
    return "Approved" in kinds and "Denied" not in kinds


def _pem(request: CertificateSigningRequest) -> bytes:
    try:
        return base64.b64decode(request.spec.request, validate=True)
    except binascii.Error as error:
        raise InvalidInput("the request is not base64") from error
