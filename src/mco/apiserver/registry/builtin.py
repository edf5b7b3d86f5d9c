"""The built-in resources, as a table."""

from __future__ import annotations

from typing import Any

from mco.apiserver.registry.served import STATUS, Served, Subresource
from mco.apiserver.strategies.budgets import BudgetStrategy
from mco.apiserver.strategies.definitions import DefinitionStrategy, Taken
from mco.apiserver.strategies.kinds import (
    DataStrategy,
    EventStrategy,
    LeaseStrategy,
    NodeStrategy,
    PodStrategy,
    SecretStrategy,
    ServiceAccountStrategy,
)
from mco.apiserver.strategies.namespaces import NamespaceStrategy
from mco.apiserver.strategies.policies import BindingStrategy, PolicyStrategy
from mco.apiserver.strategies.requests import RequestStrategy
from mco.apiserver.strategies.roles import BindingStrategy as RoleBindingStrategy
from mco.apiserver.strategies.roles import ClusterRoleStrategy, RoleStrategy
from mco.apiserver.strategies.strategy import Strategy
from mco.apiserver.tables import builtin as tables

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that always exist."""

EVICTION = Subresource("eviction", ("create",), ("policy", "v1", "Eviction"))


def _fields(*labels: str) -> dict[str, str]:
    return {label: label for label in labels}


_EVENT_FIELDS = _fields(
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
) | {"source": "source.component"}
_POD_FIELDS = _fields(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)


def built_in(taken: Taken) -> tuple[Served, ...]:
    """All of them; `taken` tells a CustomResourceDefinition which names it cannot have."""

    def core(plural: str, kind: str, short: str, strategy: Strategy, **more: Any) -> Served:
        short_names = tuple(short.split())
        more.setdefault("namespaced", True)
        return _served("", "v1", plural, kind, strategy, short_names=short_names, **more)

    return (
        core("configmaps", "ConfigMap", "cm", DataStrategy(), columns=tables.CONFIG_MAPS),
        core("events", "Event", "ev", EventStrategy(), columns=tables.EVENTS, fields=_EVENT_FIELDS),
        core(
            "namespaces",
            "Namespace",
            "ns",
            NamespaceStrategy(),
            namespaced=False,
            subresources=(STATUS, Subresource("finalize", ("update",))),
            columns=tables.NAMESPACES,
            fields=_fields("status.phase"),
        ),
        core(
            "nodes",
            "Node",
            "no",
            NodeStrategy(),
            namespaced=False,
            subresources=(STATUS,),
            columns=tables.NODES,
            fields=_fields("spec.unschedulable"),
        ),
        core(
            "pods",
            "Pod",
            "po",
            PodStrategy(),
            subresources=(STATUS, EVICTION),
            columns=tables.PODS,
            fields=_POD_FIELDS,
            categories=("all",),
        ),
        core("secrets", "Secret", "", SecretStrategy(), columns=tables.SECRETS, fields=_fields("type")),
        core(
            "serviceaccounts",
            "ServiceAccount",
            "sa",
            ServiceAccountStrategy(),
            columns=tables.SERVICE_ACCOUNTS,
        ),
        _served("coordination.k8s.io", "v1", "leases", "Lease", LeaseStrategy(), columns=tables.LEASES),
        _served(
            "policy",
            "v1",
            "poddisruptionbudgets",
            "PodDisruptionBudget",
            BudgetStrategy(),
            short_names=("pdb",),
            subresources=(STATUS,),
            columns=tables.BUDGETS,
        ),
        _served(
            "certificates.k8s.io",
            "v1",
            "certificatesigningrequests",
            "CertificateSigningRequest",
            RequestStrategy(),
            namespaced=False,
            short_names=("csr",),
            subresources=(STATUS, Subresource("approval")),
            columns=tables.REQUESTS,
            fields=_fields("spec.signerName"),
        ),
        _served(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            DefinitionStrategy(taken),
            namespaced=False,
            short_names=("crd", "crds"),
            categories=("api-extensions",),
            subresources=(STATUS,),
            columns=tables.DEFINITIONS,
        ),
        _served(
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            PolicyStrategy(),
            namespaced=False,
            categories=("api-extensions",),
            subresources=(STATUS,),
        ),
        _served(
            "admissionregistration.k8s.io",
            "v1",
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            BindingStrategy(),
            namespaced=False,
            categories=("api-extensions",),
        ),
        *_rights(),
    )


def _rights() -> tuple[Served, ...]:
    """Roles and bindings, and the questions that nobody stores."""

    def role(plural: str, kind: str, strategy: Strategy, *, namespaced: bool) -> Served:
        return _served("rbac.authorization.k8s.io", "v1", plural, kind, strategy, namespaced=namespaced)

    def question(kind: str, *, namespaced: bool = False) -> Served:
        plural = f"{kind.lower()}s"
        group = "authentication.k8s.io" if kind == "SelfSubjectReview" else "authorization.k8s.io"
        more: dict[str, Any] = {"namespaced": namespaced, "verbs": ("create",)}
        return _served(group, "v1", plural, kind, Strategy(), **more)

    return (
        role("roles", "Role", RoleStrategy(), namespaced=True),
        role("rolebindings", "RoleBinding", RoleBindingStrategy("Role", "ClusterRole"), namespaced=True),
        role("clusterroles", "ClusterRole", ClusterRoleStrategy(), namespaced=False),
        role(
            "clusterrolebindings", "ClusterRoleBinding", RoleBindingStrategy("ClusterRole"), namespaced=False
        ),
        question("SelfSubjectReview"),
        question("SelfSubjectAccessReview"),
        question("SelfSubjectRulesReview"),
        question("SubjectAccessReview"),
        question("LocalSubjectAccessReview", namespaced=True),
    )


def _served(group: str, version: str, plural: str, kind: str, strategy: Strategy, **more: Any) -> Served:
    more.setdefault("namespaced", True)
    return Served(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        strategy=strategy,
        singular=kind.lower(),
        list_kind=f"{kind}List",
        storage_version=version,
        schema=strategy.schema,
        **more,
    )
