"""Every object of the payload by the name of its file: run-level, component, order (spec/operator.md 1.15).

What removes an outgoing version's permissions stands at run-level 90: nothing of it starts before everything
of 80 is done, the ClusterOperator's gate included (spec 0.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mco.api import names
from mco.api.admission import Policy, binding_object, policy_object
from mco.api.crds import DEFINITIONS, definitions
from mco.api.policies import POLICIES
from mco.payload.manifest import DELETE
from mco.payload.source import cluster_operator, monitoring, permissions, workloads
from mco.payload.source.metadata import CAPABILITY, included, made

_LEVEL = "0000_80_machine-config_"
_LAST = "0000_90_machine-config_"
_RBAC = "rbac.authorization.k8s.io/v1"

Files = Mapping[str, dict[str, Any]]

# (kind, name) of ClusterRoleBindings that former versions had: of the namespace's default account, and of
# the operator's account to cluster-admin.
_FORMER_BINDINGS = (
    f"custom-account-{names.NAMESPACE}",
    f"default-account-{names.NAMESPACE}",
)


def manifests() -> Files:
    """What an installation applies."""
    files = {
        f"{_LEVEL}00_clusterreader-clusterrole.yaml": permissions.cluster_reader(),
        f"{_LEVEL}00_namespace.yaml": namespace(),
        f"{_LEVEL}00_service-machine-config-server.yaml": workloads.service(),
        f"{_LEVEL}01_clusteroperators.crd.yaml": cluster_operator.definition(),
        f"{_LEVEL}02_images-configmap.yaml": workloads.images(),
        f"{_LEVEL}04_deployment.yaml": workloads.operator(),
        f"{_LEVEL}06_clusteroperator.yaml": cluster_operator.operator(),
    }
    for accounts in (*map(permissions.objects, permissions.GRANTS), permissions.puller()):
        files |= {f"{_LEVEL}00_rbac-{name}.yaml": body for name, body in accounts.items()}
    files |= {f"{_LEVEL}00_rbac-{name}.yaml": body for name, body in monitoring.reader().items()}
    for name in monitoring.SECRETS:
        files[f"{_LEVEL}00_service-{name}.yaml"] = monitoring.service(name)
        files[f"{_LAST}00_servicemonitor-{name}.yaml"] = monitoring.service_monitor(name)
    for name, body in monitoring.rules().items():
        files[f"{_LAST}01_prometheus-rules-{name}.yaml"] = body
    for kind, body in zip(DEFINITIONS, definitions(), strict=True):
        files[f"{_LEVEL}01_{kind.plural}.crd.yaml"] = body
    for policy in POLICIES:
        stem = f"{_LEVEL}03_{policy.stem}-validatingadmissionpolicy"
        files[f"{stem}.yaml"] = _admission(policy, policy_object(policy))
        files[f"{stem}binding.yaml"] = _admission(policy, binding_object(policy))
    for name in _FORMER_BINDINGS:
        body = made(_RBAC, "ClusterRoleBinding", name, annotations=included() | {DELETE: "true"})
        files[f"{_LAST}90_clusterrolebinding-{name}.yaml"] = body
    return files


def operands() -> Files:
    """What the operator runs, in this order."""
    return {
        "10_daemon-daemonset.yaml": workloads.daemon(),
        "20_controller-deployment.yaml": workloads.controller(),
        "30_server-daemonset.yaml": workloads.server(),
    }


def namespace() -> dict[str, Any]:
    labels = {
        "name": names.NAMESPACE,
        "openshift.io/cluster-monitoring": "true",
        "openshift.io/run-level": "",
        "pod-security.kubernetes.io/audit": "privileged",
        "pod-security.kubernetes.io/enforce": "privileged",
        "pod-security.kubernetes.io/warn": "privileged",
    }
    annotations = included() | {
        "openshift.io/node-selector": "",
        "workload.openshift.io/allowed": "management",
    }
    return made("v1", "Namespace", names.NAMESPACE, labels=labels, annotations=annotations)


def _admission(policy: Policy, body: dict[str, Any]) -> dict[str, Any]:
    """One that reads another object would deny everything where that is not there."""
    annotations = included()
    if policy.parameter is not None and policy.parameter.required:
        annotations[CAPABILITY] = policy.parameter.kind
    return body | {"metadata": body["metadata"] | {"annotations": annotations}}
