"""CustomResourceDefinitions for the tests."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.contract.apiserver.endpoint import MERGE, Api, Body

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(prefix: str, spec: Body | None = None, **more: Any) -> Body:
    """A definition of cluster-scoped `<prefix>widgets` in the group `<prefix>.example.com`, with a status."""
    properties = {
        "spec": spec or {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    version: Body = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    kind = f"{prefix.capitalize()}Widget"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{prefix}widgets.{prefix}.example.com"},
        "spec": {
            "group": f"{prefix}.example.com",
            "scope": "Cluster",
            "names": {"plural": f"{prefix}widgets", "kind": kind, "shortNames": [f"{prefix}w"]},
            "versions": [version | more],
        },
    }


async def define(api: Api, body: Body) -> str:
    """Creates a definition where it is not there yet, and waits until it is served; its objects' path."""
    name = body["metadata"]["name"]
    if (await api.get(f"{CRDS}/{name}")).status == 404:
        await api.create(CRDS, body)
    async with api.watch(CRDS, fieldSelector=f"metadata.name={name}") as events:
        while not _established(found := (await events.next())["object"]):
            pass
    await _backdate(api, found)
    spec = body["spec"]
    for version in spec["versions"]:
        group_version = f"{spec['group']}/{version['name']}"
        path = f"/apis/{group_version}/{spec['names']['plural']}"
        api.kinds[path] = (group_version, spec["names"]["kind"])
        # The real server fills a cache first, and says so.
        while version["served"] and (await api.get(path, limit="1")).status in (404, 503):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"


async def _backdate(api: Api, body: Body) -> None:
    """The real server makes whoever creates an object within two seconds of that moment wait for two more."""
    conditions = [c | {"lastTransitionTime": "2000-01-01T00:00:00Z"} for c in body["status"]["conditions"]]
    path = f"{CRDS}/{body['metadata']['name']}/status"
    reply = await api.request("PATCH", path, {"status": {"conditions": conditions}}, kind=MERGE)
    assert reply.status == 200, reply.body


def _established(body: Body) -> bool:
    conditions = body.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
