"""A Secret per pool with what its new machines start from (spec/operator.md 1.10).

In the namespace where OpenShift's machine API looks for it; where that is not, nobody asks for it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.resources import NAMESPACES, SECRETS
from mco.kube.client import Client
from mco.operator import ensure, lookup
from mco.plan.installation import pointer

NAMESPACE = "openshift-machine-api"
_MANAGED = f"{names.GROUP}/managed-ca-bundle-derived-from-configmap"


async def keep(client: Client, pools: Iterable[MachineConfigPool], config: Mapping[str, Any]) -> None:
    """`config` is the ControllerConfig as builtins."""
    if await lookup.found(client, NAMESPACES, NAMESPACE) is None:
        return
    for pool in pools:
        await _keep(client, secret(pool, config))


def secret(pool: MachineConfigPool, config: Mapping[str, Any]) -> dict[str, Any]:
    spec = config["spec"]
    text = pointer.user_data(pool.name, spec["infra"], base64.b64decode(spec["rootCAData"]))
    owner = {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfigPool",
        "name": pool.name,
        "uid": pool.metadata.uid,
    }
    data = {"disableTemplating": "true\n", "userData": text}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{pool.name}-user-data-managed",
            "namespace": NAMESPACE,
            "labels": {_MANAGED: ""},
            "ownerReferences": [owner],
        },
        "type": "Opaque",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


async def _keep(client: Client, wanted: Mapping[str, Any]) -> None:
    name = wanted["metadata"]["name"]
    found = await lookup.found(client, SECRETS, name, namespace=NAMESPACE)
    if found is None:
        await client.create(SECRETS, wanted, namespace=NAMESPACE)
        return
    labels = found.metadata.labels or {}
    if found.data == wanted["data"] and labels.items() >= wanted["metadata"]["labels"].items():
        return
    body = {"metadata": wanted["metadata"], "data": wanted["data"]}
    await ensure.patched(client, SECRETS, found, body)
