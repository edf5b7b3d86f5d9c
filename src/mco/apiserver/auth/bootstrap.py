"""ClusterRoles and bindings that are there from the beginning, as people expect them.

A row is verbs, API groups and resources, each as words; `core` is the group without a name. Roles whose work
nobody does here (volumes, scheduling, DNS) are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mco.apiserver.auth.user import AUTHENTICATED, MASTERS, UNAUTHENTICATED

Obj = dict[str, Any]
Row = tuple[str, str, str]

GROUP = "rbac.authorization.k8s.io"
_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"
_ALL = "create delete deletecollection get list patch update watch"
_SCALED = "deployments/scale replicasets/scale"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_PUBLIC = "/healthz /livez /readyz /version /version/"
_EVENTS: Row = ("create patch update", "core events.k8s.io", "events")

_VIEW: tuple[Row, ...] = (
    (
        _READ,
        "core",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
    ),
    (
        _READ,
        "core",
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
        "resourcequotas resourcequotas/status",
    ),
    (_READ, "core", "namespaces"),
    (_READ, "core events.k8s.io", "events"),
    (_READ, "discovery.k8s.io", "endpointslices"),
    (
        _READ,
        "apps",
        f"controllerrevisions daemonsets daemonsets/status deployments deployments/status {_SCALED} "
        "replicasets replicasets/status statefulsets statefulsets/scale statefulsets/status",
    ),
    (_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    (_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    (
        _READ,
        "extensions",
        f"daemonsets daemonsets/status deployments deployments/status {_SCALED} ingresses ingresses/status "
        "networkpolicies replicasets replicasets/status replicationcontrollers/scale",
    ),
    (_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    (_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    (_READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
)
_EDIT: tuple[Row, ...] = (
    (_READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    ("impersonate", "core", "serviceaccounts"),
    (_WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
    ("create", "core", "pods/eviction"),
    (
        _WRITE,
        "core",
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
        "serviceaccounts services services/proxy",
    ),
    ("create", "core", "serviceaccounts/token"),
    (_WRITE, "core events.k8s.io", "events"),
    (
        _WRITE,
        "apps",
        f"daemonsets deployments deployments/rollback {_SCALED} replicasets statefulsets statefulsets/scale",
    ),
    (_WRITE, "autoscaling", "horizontalpodautoscalers"),
    (_WRITE, "batch", "cronjobs jobs"),
    (
        _WRITE,
        "extensions",
        f"daemonsets deployments deployments/rollback {_SCALED} ingresses networkpolicies replicasets "
        "replicationcontrollers/scale",
    ),
    (_WRITE, "policy", "poddisruptionbudgets"),
    (_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
    (_ALL, "coordination.k8s.io", "leases"),
    (_WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
)
_ADMIN: tuple[Row, ...] = (
    ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    (_ALL, GROUP, "rolebindings roles"),
)
_NODE: tuple[Row, ...] = (
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
    ("create get list watch", "core", "nodes"),
    ("patch update", "core", "nodes nodes/status pods/status"),
    _EVENTS,
    (_READ, "core", "configmaps pods secrets services"),
    ("create delete", "core", "pods"),
    ("create", "core", "pods/eviction serviceaccounts/token"),
    ("get", "core", "serviceaccounts"),
    ("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    ("create delete get patch update", "coordination.k8s.io", "leases"),
)
_ROWS: dict[str, tuple[Row, ...]] = {
    "cluster-admin": (("*", "*", "*"),),
    "system:aggregate-to-admin": _ADMIN,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-view": _VIEW,
    "system:auth-delegator": (
        ("create", "authentication.k8s.io", "tokenreviews"),
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ),
    "system:basic-user": (
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        ("create", "authentication.k8s.io", "selfsubjectreviews"),
    ),
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient": (
        ("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),
    ),
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": (
        ("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
    ),
    "system:discovery": (),
    "system:monitoring": (("get", "core", "nodes/metrics"),),
    "system:node": _NODE,
    "system:node-bootstrapper": (
        ("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    ),
    "system:node-problem-detector": (("get", "core", "nodes"), ("patch", "core", "nodes/status"), _EVENTS),
    "system:public-info-viewer": (),
}
_PATHS = {
    "cluster-admin": ("*", "*"),
    "system:discovery": (
        "get",
        "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
    ),
    "system:monitoring": (
        "get",
        "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
    ),
    "system:public-info-viewer": ("get", _PUBLIC),
}
"""Verbs, and the paths that they are for."""
_GATHERED = {"system:aggregate-to-admin": "admin", "system:aggregate-to-edit": "edit"}
_GATHERED |= {"system:aggregate-to-view": "view", "edit": "admin", "view": "edit"}
"""Roles that become part of another one."""
_BOUND = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:monitoring": ("system:monitoring",),
    "system:node": (),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
}
"""By role, the groups that have it from the beginning."""


def roles() -> Iterator[Obj]:
    for name, rows in _ROWS.items():
        rules: list[Obj] = [_rule(*row) for row in rows]
        if name in _PATHS:
            verbs, paths = _PATHS[name]
            rules.append({"nonResourceURLs": paths.split(), "verbs": verbs.split()})
        yield {"metadata": _metadata(name), "rules": rules}
    for name in ("view", "edit", "admin"):
        selector = {"matchLabels": {_gathering(name): "true"}}
        yield {"metadata": _metadata(name), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def bindings() -> Iterator[Obj]:
    for name, groups in _BOUND.items():
        subjects = [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups]
        role = {"kind": "ClusterRole", "apiGroup": GROUP, "name": name}
        body = {"metadata": _metadata(name), "roleRef": role, "subjects": subjects}
        yield body if subjects else {key: value for key, value in body.items() if key != "subjects"}


def _rule(verbs: str, groups: str, resources: str) -> Obj:
    return {
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": sorted(resources.split()),
        "verbs": verbs.split(),
    }


def _metadata(name: str) -> Obj:
    labels = {**_LABELS, **({_gathering(_GATHERED[name]): "true"} if name in _GATHERED else {})}
    return {"name": name, "labels": labels, "annotations": dict(_ANNOTATIONS)}


def _gathering(name: str) -> str:
    return f"rbac.authorization.k8s.io/aggregate-to-{name}"
