"""An admission webhook of a real API server, which answers as a test says."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from mco.api.resources import CONFIG_MAPS, NAMESPACES
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.wholes import Wholes
from tests.kube.scripted import Answer, Asked, ScriptedServer, Wire, scripted, serving
from tests.servers.real import RealServer

_NAMESPACE = "kubernetes.io/metadata.name"


@dataclass
class Webhook:
    """Asked about the config maps of one namespace. `faults` of a name without its last part are used up one
    by one; then it agrees."""

    namespace: str
    name: str
    faults: dict[str, list[Answer]] = field(default_factory=dict)
    asked: int = 0

    async def answer(self, asked: Asked, wire: Wire) -> None:
        self.asked += 1
        request = asked.json()["request"]
        pending = self.faults.get(request["name"].rpartition("-")[0])
        if pending:
            await pending.pop(0)(asked, wire)
            return
        kind = {key: asked.json()[key] for key in ("apiVersion", "kind")}
        await wire.json(kind | {"response": {"uid": request["uid"], "allowed": True}})


@contextlib.asynccontextmanager
async def webhook(server: RealServer) -> AsyncIterator[Webhook]:
    """One that `server` asks from now on, until the end."""
    name = f"admission-{uuid.uuid4().hex[:8]}"
    made = Webhook(name, f"{name}.payload.test")
    async with (
        scripted(made.answer, serving(server.authority)) as hook,
        Client(load(server.kubeconfig)) as client,
    ):
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        configuration = _configuration(made, hook, server)
        await Wholes(client).create(configuration)
        try:
            await _in_force(client, made)
            yield made
        finally:
            await Wholes(client).delete(configuration)


async def _in_force(client: Client, made: Webhook) -> None:
    """A server hears of a new webhook a moment later."""
    path = CONFIG_MAPS.path(namespace=made.namespace)
    async with asyncio.timeout(60):
        while not made.asked:
            await client.request(
                "POST",
                path,
                params={"dryRun": "All"},
                body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "asks"}},
            )
            await asyncio.sleep(0.05)


def _configuration(made: Webhook, hook: ScriptedServer, server: RealServer) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": made.name},
        "webhooks": [
            {
                "name": made.name,
                "clientConfig": {
                    "url": f"{hook.cluster.server}/",
                    "caBundle": base64.b64encode(server.authority.certificate_pem).decode(),
                },
                "rules": [rule],
                "namespaceSelector": {"matchLabels": {_NAMESPACE: made.namespace}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "timeoutSeconds": 1,
            }
        ],
    }
