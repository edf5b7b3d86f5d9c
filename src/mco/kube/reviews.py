"""Who asks, and whether he may: the API server is asked about each bearer token (spec/operator.md 1.15).

What it said counts for a minute, so that a scrape every few seconds costs it nothing, and a token that was
withdrawn is soon of no use. Questions are asked one after the other: whoever shows many wrong tokens does not
keep the API server busy, nor those who are known.
"""

from __future__ import annotations

import asyncio
import hashlib
from http import HTTPStatus
from typing import Any

import msgspec

from mco.api import names
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.kube.reviews")

SECONDS = 60.0
_KEPT = 256
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ATTRIBUTES = {"namespace": names.NAMESPACE, "verb": "get", "resource": "namespace", "subresource": "metrics"}
"""What Prometheus is granted in an OpenShift; there is no such resource."""


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Status(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status


class Reviews:
    """`admit` takes an Authorization header: 200 for whoever may read our metrics, 401 for whoever is not
    known, 403 for whoever may not, 503 when nobody can tell."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[bytes, tuple[HTTPStatus, float]] = {}
        self._asking = asyncio.Lock()

    async def admit(self, authorization: str) -> HTTPStatus:
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return HTTPStatus.UNAUTHORIZED
        key = hashlib.sha256(token.encode()).digest()
        if (known := self._said(key)) is not None:
            return known
        async with self._asking:
            if (known := self._said(key)) is not None:
                return known
            try:
                decided = await self._ask(token)
            except MCOError as error:
                _log.warning("nobody can tell who reads the metrics", error=str(error))
                return HTTPStatus.SERVICE_UNAVAILABLE
            self._keep(key, decided)
            return decided

    def _said(self, key: bytes) -> HTTPStatus | None:
        known, until = self._known.get(key, (None, 0.0))
        return known if self._clock.monotonic() < until else None

    async def _ask(self, token: str) -> HTTPStatus:
        found = await self._review(_TOKENS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not found.authenticated:
            return HTTPStatus.UNAUTHORIZED
        user = found.user
        spec = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "resourceAttributes": _ATTRIBUTES,
        }
        access = await self._review(_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return HTTPStatus.OK if access.allowed else HTTPStatus.FORBIDDEN

    async def _review(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> _Status:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        return msgspec.json.decode(await self._client.request("POST", path, body=body), type=_Review).status

    def _keep(self, key: bytes, decided: HTTPStatus) -> None:
        now = self._clock.monotonic()
        if len(self._known) >= _KEPT:
            self._known = {known: entry for known, entry in self._known.items() if entry[1] > now}
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = (decided, now + SECONDS)
