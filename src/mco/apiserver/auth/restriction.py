"""What a node may write into the objects that it may write: nothing that would choose its own pool."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from mco.api import configcopies
from mco.apiserver import errors
from mco.apiserver.auth.rules import node_of
from mco.apiserver.auth.user import User
from mco.apiserver.registry.served import Served
from mco.base.errors import InvalidInput
from mco.pki import requests

Obj = dict[str, Any]

_OPEN_LABELS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_OPEN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_GUARDED_DOMAINS = ("kubernetes.io", "k8s.io", "openshift.io")


def check(user: User, served: Served, new: Obj, old: Obj | None) -> None:
    """Raises StatusError 403 when the user is a node and writes what is not its own."""
    node = node_of(user)
    if not node:
        return
    problem = ""
    match served.resource:
        case "nodes":
            problem = _node(node, new, old)
        case "events":
            problem = _event(node, new) or (_event(node, old) if old else "")
        case "certificatesigningrequests.certificates.k8s.io":
            problem = _request(user, new)
        case "secrets":
            problem = _secret(node, new)
        case _ if new["metadata"]["name"] != node:
            problem = f'node "{node}" is not allowed to write objects of another name'
    if problem:
        raise errors.forbidden(served.plural, served.group, new["metadata"].get("name", ""), problem)


def guarded(label: str) -> bool:
    """Whether only others than the node itself may set a label: roles, and whatever else may select pools."""
    domain, slash, _ = label.rpartition("/")
    if not slash or label in _OPEN_LABELS or _within(domain, _OPEN_DOMAINS):
        return False
    return _within(domain, _GUARDED_DOMAINS)


def _node(node: str, new: Obj, old: Obj | None) -> str:
    if new["metadata"]["name"] != node:
        return f'node "{node}" is not allowed to modify node "{new["metadata"]["name"]}"'
    before = (old or {"metadata": {}})["metadata"].get("labels") or {}
    after = new["metadata"].get("labels") or {}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    if refused := sorted(filter(guarded, changed)):
        if old is None:
            return f'node "{node}" is not allowed to set the following labels: {", ".join(refused)}'
        return f"is not allowed to modify labels: {', '.join(refused)}"
    if old is not None and _taints(new) != _taints(old):
        return f'node "{node}" is not allowed to modify taints'
    return ""


def _event(node: str, event: Obj) -> str:
    if (event.get("involvedObject") or {}).get("name") == node:
        return ""
    return f'node "{node}" may only report events about itself'


def _secret(node: str, secret: Obj) -> str:
    """A part of a copy that the node was asked for. What is in it is the admission policy's business."""
    of_node = secret["metadata"]["name"][configcopies.NODE_START :] == node
    if of_node and secret["type"] == configcopies.SECRET_TYPE:
        return ""
    return f'node "{node}" may only make Secrets that hold its own copies of configs'


def _request(user: User, request: Obj) -> str:
    """A node renews its own certificate. What a newcomer may ask for, the approver decides."""
    try:
        asked = requests.parse(base64.b64decode(request["spec"]["request"])).user
    except (InvalidInput, binascii.Error, KeyError):
        return "the certificate signing request cannot be read"
    return "" if asked == user.name else f"{user.name} may not ask for a certificate of {asked}"


def _taints(obj: Obj) -> Any:
    return (obj.get("spec") or {}).get("taints") or []


def _within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == each or domain.endswith(f".{each}") for each in domains)
