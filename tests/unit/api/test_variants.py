"""Schemas for sets of feature gates, against spec/controllerconfig.md 3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mco.api import gates
from mco.api.crds import DEFINITIONS, definitions
from mco.api.crdschemas.controllerconfig import CONTROLLER_CONFIG
from mco.api.schema import enum, rule, string, struct
from mco.api.variants import base, gated, gates_of, resolve

CONTROLLER_GATES = (
    "AWSClusterHostedDNSInstall",
    "AWSDualStackInstall",
    "AWSEuropeanSovereignCloudInstall",
    "AzureDualStackInstall",
    "BGPBasedVIPManagement",
    "DualReplica",
    "DyanmicServiceEndpointIBMCloud",
    "GCPSovereignCloudInstall",
    "MutableTopology",
    "NutanixMultiSubnets",
    "OnPremDNSRecords",
    "VSphereHostVMGroupZonal",
    "VSphereMultiNetworks",
    "VSphereMultiVCenterDay2",
)


def _at(on: Iterable[str], path: str) -> dict[str, Any]:
    node: dict[str, Any] = resolve(CONTROLLER_CONFIG, frozenset(on))
    for part in path.split("."):
        node = node["items"] if part == "[]" else node["properties"].get(part, {})
    return node


def _rules(on: Iterable[str], path: str) -> list[str]:
    return [each["rule"] for each in _at(on, path).get("x-kubernetes-validations", ())]


SPEC, STATUS = "spec.infra.spec.platformSpec", "spec.infra.status.platformStatus"
VCENTERS = f"{SPEC}.vsphere.vcenters"
ROLE = "spec.dns.spec.platform.aws.privateZoneIAMRole"
NETWORKS = f"{SPEC}.vsphere.failureDomains.[].topology.networks"
SUBNETS = f"{SPEC}.nutanix.failureDomains.[].subnets"
ENDPOINT = f"{STATUS}.ibmcloud.serviceEndpoints.[].url"


def test_all_gates_are_known() -> None:
    assert gates_of(CONTROLLER_CONFIG) == set(CONTROLLER_GATES)
    assert frozenset().union(*(definition.gates for definition in DEFINITIONS)) == gates.ALL


@pytest.mark.parametrize(
    ("gate", "path"),
    [
        ("AWSClusterHostedDNSInstall", f"{STATUS}.aws.cloudLoadBalancerConfig"),
        ("AWSDualStackInstall", f"{STATUS}.aws.ipFamily"),
        ("AzureDualStackInstall", f"{STATUS}.azure.ipFamily"),
        ("BGPBasedVIPManagement", "spec.bgpVIPPeersJSON"),
        ("BGPBasedVIPManagement", f"{STATUS}.baremetal.vipManagement"),
        ("DyanmicServiceEndpointIBMCloud", f"{SPEC}.ibmcloud.serviceEndpoints"),
        ("GCPSovereignCloudInstall", f"{STATUS}.gcp.universeDomain"),
        ("MutableTopology", "spec.infra.spec.controlPlaneTopology"),
        *(
            ("OnPremDNSRecords", f"{STATUS}.{platform}.dnsRecordsType")
            for platform in ("baremetal", "nutanix", "openstack", "ovirt", "vsphere")
        ),
    ],
)
def test_a_field_needs_its_gate(gate: str, path: str) -> None:
    assert _at([gate], path) == _at(gates.ALL, path) != {}
    assert _at(set(CONTROLLER_GATES) - {gate}, path) == {}


def test_the_base_loses_what_a_gate_replaces() -> None:
    assert "aws-eusc" not in _rules((), ROLE)[0]
    assert "aws-eusc" not in _rules(gates.DEFAULT, ROLE)[0]
    assert "aws-eusc" in _rules(gates.ALL, ROLE)[0]
    topology = "spec.infra.status.controlPlaneTopology"
    assert "DualReplica" not in _at((), topology)["enum"]
    assert "DualReplica" in _at(["DualReplica"], topology)["enum"]


def test_default_keeps_the_rules_of_the_base() -> None:
    assert "size(self.vsphere.vcenters) < 2" in _rules(gates.DEFAULT, SPEC)[0]
    assert _at(gates.DEFAULT, SUBNETS)["maxItems"] == 1
    assert _at(gates.DEFAULT, NETWORKS)["maxItems"] == 10


def test_any_gate_takes_the_rule_that_keeps_vcenters() -> None:
    assert len(_rules((), VCENTERS)) == 2
    for gate in set(CONTROLLER_GATES) - {"VSphereMultiVCenterDay2"}:
        assert _rules([gate], VCENTERS) == ["self.all(x, self.exists_one(y, y.server == x.server))"]
    assert len(_rules(gates.ALL, VCENTERS)) == 3


def test_rules_of_one_gate_alone() -> None:
    alone = "DyanmicServiceEndpointIBMCloud"
    assert len(_rules([alone], ENDPOINT)) == 3
    assert len(_rules([alone, "AWSDualStackInstall"], ENDPOINT)) == 3
    assert _rules([alone, "GCPSovereignCloudInstall"], ENDPOINT) == ["isURL(self)"]
    assert _rules(gates.ALL, ENDPOINT) == ["isURL(self)"]


def test_an_unknown_gate_changes_nothing() -> None:
    assert resolve(CONTROLLER_CONFIG, ["Other"]) == resolve(CONTROLLER_CONFIG, ())


def test_marks_of_fields_words_and_rules() -> None:
    marked = struct(
        {
            "a": gated("A", string()),
            "kind": {**enum(), "enum": (base(["x"]), gated("A", ["x", "y"]))},
        },
        required=("a", "kind"),
        rules=[gated("B", rule("true")), rule("1 == 1")],
    )
    none = resolve(marked, ())
    assert none["required"] == ["kind"] and list(none["properties"]) == ["kind"]
    assert none["properties"]["kind"]["enum"] == ["x"]
    both = resolve(marked, {"A", "B"})
    assert both["properties"]["kind"]["enum"] == ["x", "y"]
    assert [each["rule"] for each in both["x-kubernetes-validations"]] == ["true", "1 == 1"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("MachineConfig", None),
        ("PinnedImageSet", None),
        ("OSImageStream", None),
        ("MachineConfigPool", None),
        ("MachineConfigNode", "CustomNoUpgrade"),
        ("KubeletConfig", "CustomNoUpgrade"),
        ("ControllerConfig", "CustomNoUpgrade"),
    ],
)
def test_annotations_say_for_which_feature_set(kind: str, expected: str | None) -> None:
    """spec/controllerconfig.md 2."""
    (definition,) = (each for each in DEFINITIONS if each.kind == kind)
    (body,) = definitions([definition])
    annotations = body["metadata"]["annotations"]
    assert annotations.get("release.openshift.io/feature-set") == expected
    assert annotations["api.openshift.io/merged-by-featuregates"] == "true"
    assert ("include.release.openshift.io/ibm-cloud-managed" in annotations) is (expected is None)


def test_annotations_of_the_default_feature_set() -> None:
    (definition,) = (each for each in DEFINITIONS if each.kind == "MachineConfigNode")
    (body,) = definitions([definition], gates=gates.DEFAULT)
    assert body["metadata"]["annotations"]["release.openshift.io/feature-set"] == "Default"
    status = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert "configImage" not in status and "irreconcilableChanges" in status
