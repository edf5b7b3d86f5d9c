"""The five network policies of our namespace: what may talk to what (spec/operator.md 1.13; cases in 8.8).

Written by merge patch, which replaces lists: what somebody added to a rule goes away again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mco.api import names
from mco.kube.wholes import Wholes
from mco.payload import ensure
from mco.payload.source.monitoring import PORT

_API = "networking.k8s.io/v1"
_BOTH = ["Ingress", "Egress"]
_SERVED = ("machine-config-operator", "machine-config-controller", "machine-os-builder")


def policies() -> Sequence[dict[str, Any]]:
    """What allows comes first, what denies last: in between nothing is cut off."""
    return [
        _policy("allow-all-egress", {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}),
        *(_scraped(name) for name in _SERVED),
        _policy("default-deny", {"podSelector": {}, "policyTypes": _BOTH, "ingress": [], "egress": []}),
    ]


async def apply(wholes: Wholes) -> None:
    """Writes nothing when they are right."""
    for body in policies():
        found = await wholes.get(body)
        if found is None:
            await wholes.create(body)
        elif (found.get("spec") or {}) != _as_stored(body["spec"]) and (changes := _changes(body, found)):
            await wholes.patch(body, changes)


def _changes(body: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    changes = ensure.difference(found.get("spec") or {}, _as_stored(body["spec"]))
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "spec": changes}


def _as_stored(spec: dict[str, Any]) -> dict[str, Any]:
    """The server keeps no empty rules; a list that is not there allows as little as an empty one."""
    return {key: value for key, value in spec.items() if value != []}


def _scraped(name: str) -> dict[str, Any]:
    ingress = [{"ports": [{"port": PORT, "protocol": "TCP"}]}]
    selector = {"matchLabels": {"k8s-app": name}}
    return _policy(f"allow-{name}", {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": ingress})


def _policy(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": names.NAMESPACE}
    return {"apiVersion": _API, "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
