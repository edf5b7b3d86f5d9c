"""Pods, the nodes that they are bound to, and budgets, for the tests."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.contract.apiserver.endpoint import Api, Body

READY: Body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
UNREADY: Body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}


async def node(api: Api, name: str, *, kubelet: str = "v1.34.0") -> str:
    """A Node whose kubelet has that version, and does nothing."""
    status = {"nodeInfo": {"kubeletVersion": kubelet}} if kubelet else {}
    await api.create("/api/v1/nodes", {"metadata": {"name": name}, "status": status})
    return name


async def pod(
    api: Api, namespace: str, name: str, *, state: Body | None = READY, grace: int = 0, **more: Any
) -> str:
    """A Pod with the label app=a, ready unless told otherwise; `more` goes into its spec, but for `owner`."""
    owner = more.pop("owner", None)
    metadata: Body = {"name": name, "labels": {"app": "a"}}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "terminationGracePeriodSeconds": grace,
        "tolerations": [{"operator": "Exists"}],
        **more,
    }
    await api.create(f"{namespace}/pods", {"metadata": metadata, "spec": spec})
    path = f"{namespace}/pods/{name}"
    if state is not None:
        assert (await api.patch(f"{path}/status", state)).status == 200
    return path


def budgets(namespace: str) -> str:
    return namespace.replace("/api/v1", "/apis/policy/v1") + "/poddisruptionbudgets"


async def budget(api: Api, namespace: str, name: str = "b", **spec: object) -> str:
    """A budget of the pods with the label app=a."""
    selector = {"matchLabels": {"app": "a"}}
    path = budgets(namespace)
    await api.create(path, {"metadata": {"name": name}, "spec": {"selector": selector, **spec}})
    return f"{path}/{name}"


async def settled(api: Api, path: str, **wanted: object) -> Body:
    """The status of a budget, once it is that."""
    async with asyncio.timeout(90):
        while True:
            status: Body = (await api.get(path)).body.get("status") or {}
            if {key: status.get(key) for key in wanted} == wanted:
                return status
            await asyncio.sleep(0.05)


def eviction(name: str, **more: object) -> Body:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}
