"""Who may do what, as a pure decision."""

from __future__ import annotations

from typing import Any

import pytest

from mco.apiserver.auth.restriction import guarded
from mco.apiserver.auth.rules import Attributes, allowed
from mco.apiserver.auth.user import NOBODY, User, authenticated

NODE = authenticated("system:node:w1", ("system:nodes",))
NEWCOMER = authenticated("system:bootstrap:abcdef", ("system:bootstrappers",), "abcdef")
ADMIN = authenticated("admin", ("system:masters",))
CONTROLLER = authenticated("system:mco:controller", ())
MCN = "machineconfignodes.machineconfiguration.openshift.io"
REQUESTS = "certificatesigningrequests.certificates.k8s.io"
LEASES = "leases.coordination.k8s.io"


def may(user: User, verb: str, resource: str = "", **more: Any) -> bool:
    return allowed(user, Attributes(verb=verb, resource=resource, **more))


@pytest.mark.parametrize("verb", ["get", "list", "create", "delete", "deletecollection", "anything"])
def test_masters_may_do_everything(verb: str) -> None:
    assert may(ADMIN, verb, "secrets", namespace="kube-system", name="x")


@pytest.mark.parametrize(
    ("verb", "resource", "more"),
    [
        ("get", "nodes", {"name": "w1"}),
        ("list", "nodes", {"selected": "w1"}),
        ("watch", "nodes", {"selected": "w1"}),
        ("create", "nodes", {}),
        ("patch", "nodes", {"name": "w1"}),
        ("patch", "nodes/status", {"name": "w1"}),
        ("get", MCN, {"name": "w1"}),
        ("watch", MCN, {"selected": "w1"}),
        ("patch", f"{MCN}/status", {"name": "w1"}),
        ("patch", LEASES, {"name": "w1", "namespace": "kube-node-lease"}),
        ("create", "events", {"namespace": "default"}),
        ("list", "machineconfigs.machineconfiguration.openshift.io", {}),
        ("watch", "machineconfigpools.machineconfiguration.openshift.io", {}),
        ("get", "controllerconfigs.machineconfiguration.openshift.io", {"name": "c"}),
        ("watch", "machineconfigurations.operator.openshift.io", {}),
        ("create", REQUESTS, {}),
        ("watch", REQUESTS, {"selected": "csr-1"}),
    ],
)
def test_a_node_may(verb: str, resource: str, more: dict[str, str]) -> None:
    assert may(NODE, verb, resource, **more)


@pytest.mark.parametrize(
    ("verb", "resource", "more"),
    [
        ("get", "nodes", {"name": "w2"}),
        ("list", "nodes", {}),
        ("watch", "nodes", {"selected": "w2"}),
        ("delete", "nodes", {"name": "w1"}),
        ("deletecollection", "nodes", {}),
        ("patch", "nodes/status", {"name": "w2"}),
        ("list", MCN, {}),
        ("create", MCN, {}),
        ("delete", MCN, {"name": "w1"}),
        ("patch", LEASES, {"name": "w1", "namespace": "kube-system"}),
        ("list", LEASES, {"namespace": "kube-node-lease"}),
        ("get", "secrets", {"name": "w1", "namespace": "default"}),
        ("list", "secrets", {}),
        ("get", "configmaps", {"name": "w1", "namespace": "default"}),
        ("patch", "machineconfigs.machineconfiguration.openshift.io", {"name": "x"}),
        ("patch", "machineconfigpools.machineconfiguration.openshift.io/status", {"name": "x"}),
        ("list", REQUESTS, {}),
        ("update", f"{REQUESTS}/approval", {"name": "x"}),
        ("patch", f"{REQUESTS}/status", {"name": "x"}),
        ("list", "pods", {}),
        ("create", "pods/eviction", {"namespace": "default", "name": "p"}),
        ("list", "customresourcedefinitions.apiextensions.k8s.io", {}),
    ],
)
def test_a_node_may_not(verb: str, resource: str, more: dict[str, str]) -> None:
    assert not may(NODE, verb, resource, **more)


def test_a_newcomer_may_only_ask_for_a_certificate() -> None:
    assert may(NEWCOMER, "create", REQUESTS)
    assert may(NEWCOMER, "get", REQUESTS, name="x")
    assert may(NEWCOMER, "watch", REQUESTS, selected="x")
    assert not may(NEWCOMER, "list", REQUESTS)
    assert not may(NEWCOMER, "delete", REQUESTS, name="x")
    assert not may(NEWCOMER, "get", "nodes", name="x")
    assert not may(NEWCOMER, "get", "secrets", name="x", namespace="kube-system")


def test_a_component_has_no_other_ones_rights() -> None:
    assert may(
        CONTROLLER, "patch", "machineconfigpools.machineconfiguration.openshift.io/status", name="worker"
    )
    assert may(CONTROLLER, "create", "pods/eviction", namespace="default", name="p")
    assert may(CONTROLLER, "list", "secrets", namespace="kube-system")
    assert not may(CONTROLLER, "list", "secrets", namespace="default")
    assert not may(CONTROLLER, "create", "nodes")
    assert not may(CONTROLLER, "create", "customresourcedefinitions.apiextensions.k8s.io")


def test_paths() -> None:
    assert may(NOBODY, "get", path="/healthz")
    assert may(NOBODY, "get", path="/readyz/")
    assert not may(NOBODY, "get", path="/api")
    assert may(NODE, "get", path="/apis/coordination.k8s.io/v1")
    assert not may(NODE, "post", path="/api")
    assert not may(NODE, "get", path="/apiserver")


def test_a_name_without_the_group_is_no_node() -> None:
    assert not may(authenticated("system:node:w1", ()), "get", "nodes", name="w1")
    assert not may(authenticated("w1", ("system:nodes",)), "get", "nodes", name="w1")


@pytest.mark.parametrize(
    ("label", "is_guarded"),
    [
        ("node-role.kubernetes.io/worker", True),
        ("kubernetes.io/role", True),
        ("machineconfiguration.openshift.io/x", True),
        ("a.k8s.io/b", True),
        ("notkubernetes.io/x", False),
        ("kubernetes.io/hostname", False),
        ("topology.kubernetes.io/zone", False),
        ("x.node.kubernetes.io/y", False),
        ("own", False),
        ("example.com/own", False),
    ],
)
def test_guarded_labels(label: str, is_guarded: bool) -> None:
    assert guarded(label) is is_guarded
