"""Whether a machine may have the identity that it asks for, and as what it joins (design.md 10, identity)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mco.api import names
from mco.api.bootstraptokens import BootstrapToken
from mco.api.core import CertificateSigningRequest, Node
from mco.plan.pool import nodes as state

BOOTSTRAP_USER = "system:bootstrap:"
NODE_USER = "system:node:"
NODE_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
_USAGES = frozenset({"digital signature", "key encipherment", "client auth"})


class Verdict(msgspec.Struct, frozen=True):
    """`reason` and `message` go into the request's Approved or Denied condition."""

    approved: bool
    reason: str
    message: str


def mine(request: CertificateSigningRequest) -> bool:
    """Whether the request is one that this project answers and nobody has answered yet."""
    answered = any(c.type in ("Approved", "Denied") for c in request.status.conditions)
    return request.spec.signer_name == NODE_SIGNER and not answered


def judge(
    request: CertificateSigningRequest,
    node_name: str,
    tokens: Mapping[str, BootstrapToken],
    existing: Node | None,
) -> Verdict:
    """Decides on a request whose certificate would speak for `node_name`.

    `tokens` are the join tokens by id, `existing` is the Node of that name. A machine says which one it is in
    the annotation `machine-id` of its request; a name that a live node of another machine has is taken."""
    unknown = set(request.spec.usages) - _USAGES
    if unknown:
        return _deny("UnexpectedUsage", f"usages {', '.join(sorted(unknown))} are not for a node's client")
    user = request.spec.username
    if user.startswith(NODE_USER):
        if user != NODE_USER + node_name:
            return _deny("ForeignName", f"{user} may not ask for the certificate of {node_name}")
        return Verdict(True, "AutoApproved", "the node renews its own certificate")
    token = tokens.get(user.removeprefix(BOOTSTRAP_USER)) if user.startswith(BOOTSTRAP_USER) else None
    if token is None:
        return _deny("UnknownRequester", f"{user} is neither the node itself nor a join token")
    if token.machine and token.machine != node_name:
        return _deny("ForeignToken", f"the token is for machine {token.machine}, not for {node_name}")
    if existing is not None and _taken(existing, request.metadata.annotation(names.MACHINE_ID) or ""):
        return _deny("NameTaken", f"node {node_name} is alive on another machine; remove that node first")
    return Verdict(True, "AutoApproved", f"joined with a token of pool {token.pool}")


def role_labels(pool: str) -> Mapping[str, str]:
    """The role with which a machine of `pool` registers: the control plane's own, else worker. The labels
    of a custom pool follow (`firstboot`)."""
    if pool == names.MASTER:
        return {f"{names.NODE_ROLE_PREFIX}{role}": "" for role in ("master", "control-plane")}
    return {f"{names.NODE_ROLE_PREFIX}{names.ARBITER if pool == names.ARBITER else names.WORKER}": ""}


def has_role(node: Node) -> bool:
    return any(key.startswith(names.NODE_ROLE_PREFIX) for key in node.metadata.labels or {})


def _taken(node: Node, machine_id: str) -> bool:
    theirs = node.status.node_info.machine_id
    return bool(theirs) and theirs != machine_id and state.unready(node) is None


def _deny(reason: str, message: str) -> Verdict:
    return Verdict(False, reason, message)
