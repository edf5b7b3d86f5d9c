"""What belongs to the installation and helps to understand it: the ClusterOperator's `relatedObjects`
(spec/operator.md 1.3)."""

from __future__ import annotations

from mco.api import names

_PLATFORMS = ("kni", "openstack", "ovirt", "vsphere", "nutanix", "cloud-platform")
_KINDS = (
    "machineconfigpools",
    "controllerconfigs",
    "kubeletconfigs",
    "containerruntimeconfigs",
    "machineconfigs",
    "machineconfignodes",
)
_CLUSTER_ROLES = (
    "machine-config-controller",
    "machine-config-controller-events",
    "machine-config-daemon",
    "machine-config-daemon-events",
    "machine-config-server",
    "machine-os-builder",
    "machine-os-builder-events",
    "system:openshift:machine-config-operator:cluster-reader",
)
_CLUSTER_ROLE_BINDINGS = (
    "machine-config-controller",
    "machine-config-daemon",
    "machine-config-server",
    "machine-os-builder",
    "machine-os-builder-anyuid",
    "custom-account-openshift-machine-config-operator",
    "system-bootstrap-node-bootstrapper",
    "system-bootstrap-node-renewal",
)
_RBAC = "rbac.authorization.k8s.io"


def objects() -> list[dict[str, str]]:
    """One that is not there is no mistake: it says where to look."""
    spaces = (names.NAMESPACE, *(f"openshift-{platform}-infra" for platform in _PLATFORMS))
    return [
        *(_one("", "namespaces", name) for name in spaces),
        *(_one(names.GROUP, kind) for kind in _KINDS),
        _one(names.OPERATOR_GROUP, "machineconfigurations"),
        _one("", "nodes"),
        *(_one(_RBAC, "clusterroles", name) for name in _CLUSTER_ROLES),
        *(_one(_RBAC, "clusterrolebindings", name) for name in _CLUSTER_ROLE_BINDINGS),
    ]


def _one(group: str, resource: str, name: str = "") -> dict[str, str]:
    return {"group": group, "resource": resource, "name": name}
