"""Who may do what: one ServiceAccount per component, and exactly the verbs that its code uses.

Whoever installs the payload hands these out; no component, the operator included, can give itself or another
one anything. A rule that only OpenShift's pod admission asks for is marked.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import bootstraptokens, names
from mco.api.crds import DEFINITIONS
from mco.payload.source.metadata import CONTROLLER, DAEMON, OPERATOR, SERVER, made, ours

_RBAC = "rbac.authorization.k8s.io"
_API = f"{_RBAC}/v1"
_CONFIG = "config.openshift.io"
_READ = ("get", "list", "watch")
_FOLLOW = ("list", "watch")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`because` is what the component does with it."""

    group: str = ""
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    because: str
    only: tuple[str, ...] = ()

    def body(self) -> dict[str, Any]:
        rule = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return rule | ({"resourceNames": list(self.only)} if self.only else {})


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What a component may do in the whole cluster, and by namespace."""

    component: str
    cluster: tuple[Rule, ...]
    inside: tuple[tuple[str, tuple[Rule, ...]], ...]


def _machine_config(*resources: str, verbs: tuple[str, ...], because: str) -> Rule:
    return Rule(group=names.GROUP, resources=resources, verbs=verbs, because=because)


def _events(because: str) -> Rule:
    return Rule(resources=("events",), verbs=("create", "patch"), because=because)


def _constraints(name: str) -> Rule:
    """Only OpenShift has the kind; elsewhere the rule is never used."""
    return Rule(
        group="security.openshift.io",
        resources=("securitycontextconstraints",),
        verbs=("use",),
        only=(name,),
        because="OpenShift admits its Pod with these constraints",
    )


_LEADER = (
    Rule(
        group="coordination.k8s.io",
        resources=("leases",),
        verbs=("get", "list", "watch", "create", "patch"),
        because="it holds its Lease, or watches who does",
    ),
    Rule(resources=("pods",), verbs=_FOLLOW, because="the end of its predecessor's container is a proof"),
)
_TOPOLOGY = Rule(
    group=_CONFIG,
    resources=("infrastructures",),
    verbs=("get",),
    only=("cluster",),
    because="the topology decides how long its Lease lasts",
)
_NODES = Rule(resources=("nodes",), verbs=_READ, because="it follows the Nodes, its predecessor's one too")

_OPERATOR = Grants(
    component=OPERATOR,
    cluster=(
        _NODES,
        _TOPOLOGY,
        Rule(
            resources=("namespaces",),
            verbs=("get",),
            only=(names.NAMESPACE, names.NODE_LEASE_NAMESPACE),
            because="it looks whether they are there",
        ),
        Rule(
            group="apiextensions.k8s.io",
            resources=("customresourcedefinitions",),
            verbs=("get", "patch"),
            only=tuple(sorted(definition.name for definition in DEFINITIONS)),
            because="it keeps them at this version's schema",
        ),
        _machine_config(
            "machineconfignodes",
            verbs=("list", "watch", "create", "patch", "delete"),
            because="one of them for each Node",
        ),
        _machine_config(
            "machineconfigpools",
            "controllerconfigs",
            verbs=("get", "list", "watch", "create", "patch"),
            because="built-in pools and the ControllerConfig are its own",
        ),
        _machine_config("controllerconfigs/status", verbs=("patch",), because="it marks it completed"),
        Rule(
            group=names.OPERATOR_GROUP,
            resources=("machineconfigurations",),
            verbs=("get", "list", "watch", "create", "patch"),
            because="the one called cluster is its own",
        ),
        Rule(
            group=names.OPERATOR_GROUP,
            resources=("machineconfigurations/status",),
            verbs=("patch",),
            because="the policies that hold",
        ),
        Rule(
            group=_CONFIG,
            resources=("clusteroperators",),
            verbs=("get", "list", "watch", "create"),
            because="it reports its version and conditions there",
        ),
        Rule(
            group=_CONFIG,
            resources=("clusteroperators/status",),
            verbs=("patch",),
            only=("machine-config",),
            because="it reports its version and conditions there",
        ),
        _constraints("nonroot-v2"),
    ),
    inside=(
        (
            names.NAMESPACE,
            (
                *_LEADER,
                _events("what it does to the installation"),
                Rule(
                    group="apps",
                    resources=("deployments", "daemonsets"),
                    verbs=("get", "create", "patch"),
                    because="it runs the other components",
                ),
            ),
        ),
        (
            "kube-public",
            (
                Rule(
                    resources=("configmaps",),
                    verbs=("get",),
                    only=("cluster-info",),
                    because="how machines reach the API server",
                ),
            ),
        ),
    ),
)

_CONTROLLER = Grants(
    component=CONTROLLER,
    cluster=(
        Rule(
            resources=("nodes",),
            verbs=(*_READ, "patch"),
            because="a Node's desired config, taint, cordon and labels",
        ),
        _TOPOLOGY,
        _machine_config(
            "machineconfigs",
            verbs=("get", "list", "watch", "create", "patch", "delete"),
            because="it renders pools, and collects what nobody needs any more",
        ),
        _machine_config(
            "machineconfigpools",
            verbs=("get", "list", "watch", "patch"),
            because="a pool names its rendered config",
        ),
        _machine_config("machineconfigpools/status", verbs=("patch",), because="how far a rollout is"),
        _machine_config(
            "machineconfignodes",
            verbs=("get", "list", "watch", "patch"),
            because="where a node is going",
        ),
        _machine_config(
            "machineconfignodes/status", verbs=("patch",), because="drains, and why a node waits"
        ),
        _machine_config("machineosbuilds", verbs=("list",), because="a config is built into an image"),
        _machine_config("controllerconfigs", verbs=_FOLLOW, because="every rendered config has its parts"),
        Rule(
            group=_CONFIG,
            resources=("schedulers",),
            verbs=_FOLLOW,
            because="whether masters take work, where that kind exists",
        ),
        Rule(resources=("pods",), verbs=("list",), because="which Pods a drain has to evict"),
        Rule(resources=("pods/eviction",), verbs=("create",), because="a drain evicts"),
        Rule(
            group="policy",
            resources=("poddisruptionbudgets",),
            verbs=("list",),
            because="which budget stops a drain",
        ),
        Rule(group="apps", resources=("daemonsets",), verbs=("get",), because="their Pods stay"),
        _constraints("nonroot-v2"),
    ),
    inside=(
        (
            names.NAMESPACE,
            (
                *_LEADER,
                _events("what happens to pools and nodes"),
                Rule(
                    resources=("configmaps",),
                    verbs=("list", "watch", "create", "patch"),
                    because="which rendered configs are in use, and which were served",
                ),
            ),
        ),
    ),
)

_DAEMON = Grants(
    component=DAEMON,
    cluster=(
        Rule(
            resources=("nodes",),
            verbs=("list", "watch", "patch"),
            because="it follows its Node and reports there what it does",
        ),
        _machine_config("machineconfigs", verbs=("get",), because="the config that its node shall have"),
        _machine_config("machineconfignodes", verbs=_READ, because="the report of its node"),
        _machine_config(
            "machineconfignodes/status", verbs=("patch",), because="the report of its node, and of no other"
        ),
        Rule(
            group=names.OPERATOR_GROUP,
            resources=("machineconfigurations",),
            verbs=("get",),
            because="which changes disrupt",
        ),
        _constraints("privileged"),
    ),
    inside=((names.NAMESPACE, (_events("what it does to its node"),)),),
)

_SERVER = Grants(
    component=SERVER,
    cluster=(
        _machine_config("machineconfigs", verbs=_READ, because="what it serves"),
        _machine_config(
            "machineconfigpools",
            "controllerconfigs",
            verbs=_FOLLOW,
            because="which config is whose, and what goes with it",
        ),
        _constraints("hostnetwork-v2"),
    ),
    inside=(
        (
            names.NAMESPACE,
            (
                _events("who joined with which token"),
                Rule(
                    resources=("configmaps",),
                    verbs=_FOLLOW,
                    because="authorities of the API server for new machines",
                ),
                Rule(
                    resources=("configmaps",),
                    verbs=("patch",),
                    only=(names.SERVED_MAP,),
                    because="when it served which config",
                ),
                Rule(resources=("configmaps",), verbs=("create",), because="the same, for the first time"),
            ),
        ),
        (
            bootstraptokens.NAMESPACE,
            (Rule(resources=("secrets",), verbs=_READ, because="join tokens are Secrets there"),),
        ),
    ),
)

GRANTS = (_OPERATOR, _CONTROLLER, _DAEMON, _SERVER)


def account(component: str) -> dict[str, Any]:
    return ours("v1", "ServiceAccount", component)


def objects(grants: Grants) -> dict[str, dict[str, Any]]:
    """ServiceAccount, roles and bindings of a component, each with what its file is called."""
    who = grants.component
    subject = {"kind": "ServiceAccount", "name": who, "namespace": names.NAMESPACE}
    role = made(_API, "ClusterRole", who) | {"rules": [rule.body() for rule in grants.cluster]}
    found = {
        f"{who}-serviceaccount": account(who),
        f"{who}-clusterrole": role,
        f"{who}-clusterrolebinding": made(_API, "ClusterRoleBinding", who)
        | _bound("ClusterRole", who, subject),
    }
    for namespace, rules in grants.inside:
        stem = who if namespace == names.NAMESPACE else f"{who}-{namespace}"
        inside = made(_API, "Role", who, namespace=namespace) | {"rules": [rule.body() for rule in rules]}
        found[f"{stem}-role"] = inside
        found[f"{stem}-rolebinding"] = made(_API, "RoleBinding", who, namespace=namespace) | _bound(
            "Role", who, subject
        )
    return found


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
    return role | {"rules": [{"apiGroups": [names.GROUP], "resources": resources, "verbs": list(_READ)}]}


def _bound(kind: str, name: str, subject: dict[str, str]) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name}, "subjects": [subject]}
