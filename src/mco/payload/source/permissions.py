"""Who may do what: one ServiceAccount per component, and exactly the verbs that its code uses.

Whoever installs the payload hands these out; no component, the operator included, can give itself or another
one anything.
"""

from __future__ import annotations

from typing import Any

from mco.api import names
from mco.payload.source import componentgrants, operatorgrants
from mco.payload.source.metadata import CAPABILITY, included, made, ours
from mco.payload.source.rules import READ, Grants, Inside
from mco.plan.installation import pullsecret

_RBAC = "rbac.authorization.k8s.io"
_API = f"{_RBAC}/v1"

GRANTS = (operatorgrants.GRANTS, *componentgrants.GRANTS)


def objects(grants: Grants) -> dict[str, dict[str, Any]]:
    """ServiceAccount, roles and bindings of a component, each with what its file is called."""
    who = grants.component
    subject = {"kind": "ServiceAccount", "name": who, "namespace": names.NAMESPACE}
    binding = made(_API, "ClusterRoleBinding", who) | _bound("ClusterRole", who, subject)
    found = {
        f"{who}-serviceaccount": ours("v1", "ServiceAccount", who),
        f"{who}-clusterrole": made(_API, "ClusterRole", who) | {"rules": [r.body() for r in grants.cluster]},
        f"{who}-clusterrolebinding": binding,
    }
    for each in grants.inside:
        stem = who if each.namespace == names.NAMESPACE else f"{who}-{each.namespace}"
        name = who
        if each.namespace == names.NAMESPACE and each.capability:
            stem = name = f"{who}-{each.capability.lower()}"
        found[f"{stem}-role"] = _in(each, "Role", name) | {"rules": [rule.body() for rule in each.rules]}
        found[f"{stem}-rolebinding"] = _in(each, "RoleBinding", name) | _bound("Role", name, subject)
    return found


def _in(each: Inside, kind: str, name: str) -> dict[str, Any]:
    annotations = included() | ({CAPABILITY: each.capability} if each.capability else {})
    return made(_API, kind, name, namespace=each.namespace, annotations=annotations)


def cluster_reader() -> dict[str, Any]:
    """What whoever may read a cluster sees of us; MachineConfigs are not among it, because they can hold
    secrets (spec/operator.md 1.15)."""
    readable = ("containerruntimeconfigs", "controllerconfigs", "kubeletconfigs", "machineconfigpools")
    with_status = ("machineconfignodes", "machineosconfigs", "machineosbuilds")
    resources = [*readable, *(r for name in with_status for r in (name, f"{name}/status"))]
    role = made(
        _API,
        "ClusterRole",
        "system:openshift:machine-config-operator:cluster-reader",
        labels={f"{_RBAC}/aggregate-to-cluster-reader": "true"},
    )
    return role | {"rules": [{"apiGroups": [names.GROUP], "resources": resources, "verbs": list(READ)}]}


def puller() -> dict[str, dict[str, Any]]:
    """The account whose credentials nodes pull with from the cluster's own registry, by what its files are
    called (spec/operator.md 1.6, 1.15)."""
    name, annotations = pullsecret.ACCOUNT, included() | {CAPABILITY: operatorgrants.OPENSHIFT}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": names.NAMESPACE}
    binding = ours(_API, "RoleBinding", f"{name}-binding", annotations=annotations)
    return {
        f"{name}-serviceaccount": ours("v1", "ServiceAccount", name, annotations=annotations),
        f"{name}-rolebinding": binding | _bound("ClusterRole", "system:image-puller", subject),
    }


def _bound(kind: str, name: str, subject: dict[str, str]) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name}, "subjects": [subject]}
