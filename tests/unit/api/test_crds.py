"""The definitions of our kinds against spec/node.md 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mco.api import resources
from mco.api.crds import DEFINITIONS, Definition, definitions
from mco.api.gates import FEATURE_SETS

BY_KIND = {body["spec"]["names"]["kind"]: body for body in definitions()}
WITH_ALPHA = ("OSImageStream", "InternalReleaseImage")


@pytest.mark.parametrize(
    ("kind", "name", "short", "status", "managed"),
    [
        ("KubeletConfig", "kubeletconfigs.machineconfiguration.openshift.io", None, True, True),
        (
            "ContainerRuntimeConfig",
            "containerruntimeconfigs.machineconfiguration.openshift.io",
            ["ctrcfg"],
            True,
            True,
        ),
        ("MachineOSConfig", "machineosconfigs.machineconfiguration.openshift.io", None, True, True),
        ("MachineOSBuild", "machineosbuilds.machineconfiguration.openshift.io", None, True, True),
        ("PinnedImageSet", "pinnedimagesets.machineconfiguration.openshift.io", None, False, True),
        ("OSImageStream", "osimagestreams.machineconfiguration.openshift.io", None, True, True),
        ("InternalReleaseImage", "internalreleaseimages.machineconfiguration.openshift.io", None, True, True),
        ("MachineConfig", "machineconfigs.machineconfiguration.openshift.io", ["mc"], False, True),
        ("MachineConfigPool", "machineconfigpools.machineconfiguration.openshift.io", ["mcp"], True, True),
        ("ControllerConfig", "controllerconfigs.machineconfiguration.openshift.io", None, True, True),
        ("MachineConfigNode", "machineconfignodes.machineconfiguration.openshift.io", ["mcn"], True, True),
        ("MachineConfiguration", "machineconfigurations.operator.openshift.io", None, True, False),
    ],
)
def test_names_scope_and_subresources(
    kind: str, name: str, short: list[str] | None, status: bool, managed: bool
) -> None:
    body = BY_KIND[kind]
    spec = body["spec"]
    assert body["metadata"]["name"] == name == f"{spec['names']['plural']}.{spec['group']}"
    assert spec["scope"] == "Cluster"
    assert spec["names"].get("shortNames") == short
    assert spec["names"]["listKind"] == f"{kind}List"
    assert spec["names"]["singular"] == kind.lower()
    version, *alpha = spec["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True)
    assert [v["name"] for v in alpha] == (["v1alpha1"] if kind in WITH_ALPHA else [])
    assert not any(v["storage"] for v in alpha) and all(v["served"] for v in alpha)
    assert all(("subresources" in v) is status for v in spec["versions"])
    labels = body["metadata"].get("labels")
    assert labels == ({"openshift.io/operator-managed": ""} if managed else None)


def test_the_client_reads_them_under_the_same_names() -> None:
    for resource in (
        resources.MACHINE_CONFIGS,
        resources.MACHINE_CONFIG_POOLS,
        resources.MACHINE_CONFIG_NODES,
        resources.CONTROLLER_CONFIGS,
        resources.MACHINE_CONFIGURATIONS,
    ):
        spec = BY_KIND[resource.kind]["spec"]
        assert (spec["group"], spec["names"]["plural"]) == (resource.group, resource.plural)


def _schema(kind: str) -> dict[str, Any]:
    version = BY_KIND[kind]["spec"]["versions"][0]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def _at(kind: str, path: str) -> dict[str, Any]:
    node = _schema(kind)
    for part in path.split("."):
        node = node["items"] if part == "[]" else node["properties"][part]
    return node


@pytest.mark.parametrize(
    ("kind", "path", "facts"),
    [
        ("MachineConfig", "spec.config", {"x-kubernetes-preserve-unknown-fields": True}),
        ("MachineConfig", "spec.kernelArguments", {"nullable": True, "x-kubernetes-list-type": "atomic"}),
        ("MachineConfigPool", "spec.maxUnavailable", {"x-kubernetes-int-or-string": True}),
        (
            "MachineConfigPool",
            "spec.pinnedImageSets",
            {"maxItems": 100, "x-kubernetes-list-map-keys": ["name"]},
        ),
        ("MachineConfigPool", "status.conditions", {"x-kubernetes-list-type": "atomic"}),
        ("MachineConfigPool", "status.conditions.[].lastTransitionTime", {"nullable": True}),
        (
            "MachineConfigPool",
            "status.poolSynchronizersStatus.[].poolSynchronizerType",
            {"enum": ["PinnedImageSets"]},
        ),
        ("MachineConfigNode", "spec.configVersion.desired", {"maxLength": 253}),
        ("MachineConfigNode", "status.conditions", {"maxItems": 20, "x-kubernetes-list-type": "map"}),
        ("MachineConfigNode", "status.observedGeneration", {"minimum": 1}),
        ("MachineConfigNode", "status.pinnedImageSets.[].lastFailedGenerationError", {"maxLength": 32768}),
        ("MachineConfigNode", "status.irreconcilableChanges", {"minItems": 1, "maxItems": 32}),
        ("ControllerConfig", "spec.rootCAData", {"format": "byte"}),
        ("ControllerConfig", "spec.infra", {"nullable": True, "x-kubernetes-embedded-resource": True}),
        ("ControllerConfig", "spec.bgpVIPPeersJSON", {"minLength": 1, "maxLength": 65536}),
        ("MachineConfiguration", "spec.logLevel", {"default": "Normal"}),
        ("MachineConfiguration", "spec.nodeDisruptionPolicy.files", {"maxItems": 50}),
        (
            "MachineConfiguration",
            "status.nodeDisruptionPolicyStatus.clusterPolicies.files",
            {"maxItems": 100},
        ),
        ("MachineConfiguration", "spec.nodeDisruptionPolicy.files.[].actions", {"maxItems": 10}),
    ],
)
def test_facts_of_fields(kind: str, path: str, facts: dict[str, Any]) -> None:
    field = _at(kind, path)
    assert {key: field.get(key) for key in facts} == facts


def test_special_is_an_action_of_the_status_only() -> None:
    path = "files.[].actions.[].type"
    spec = _at("MachineConfiguration", f"spec.nodeDisruptionPolicy.{path}")["enum"]
    status = _at("MachineConfiguration", f"status.nodeDisruptionPolicyStatus.clusterPolicies.{path}")["enum"]
    assert status == [*spec, "Special"]


def test_a_controller_config_needs_what_the_original_needs() -> None:
    """spec/controllerconfig.md 5."""
    assert _at("ControllerConfig", "spec")["required"] == [
        "additionalTrustBundle",
        "baseOSContainerImage",
        "cloudProviderCAData",
        "cloudProviderConfig",
        "clusterDNSIP",
        "dns",
        "images",
        "infra",
        "ipFamilies",
        "kubeAPIServerServingCAData",
        "network",
        "proxy",
        "releaseImage",
        "rootCAData",
    ]


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for sub in (schema.get("properties") or {}).values():
        yield from _nodes(sub)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _nodes(schema[word])


@pytest.mark.parametrize("feature_set", ["", *FEATURE_SETS])
@pytest.mark.parametrize("definition", DEFINITIONS, ids=[d.kind for d in DEFINITIONS])
def test_schemas_are_structural(definition: Definition, feature_set: str) -> None:
    """What a server demands of a definition, for each set of gates."""
    gates = FEATURE_SETS.get(feature_set, ())
    (body,) = definitions([definition], gates=gates)
    for version in body["spec"]["versions"]:
        for node in _nodes(version["schema"]["openAPIV3Schema"]):
            _check(node)


def _check(node: dict[str, Any]) -> None:
    assert ("type" in node) is not node.get("x-kubernetes-int-or-string", False)
    if node.get("type") == "array":
        assert node["x-kubernetes-list-type"] in ("atomic", "set", "map")
        if node["x-kubernetes-list-type"] == "set":
            assert node["items"]["type"] == "string"
    for name in node.get("required", ()):
        assert name in node["properties"]
    for key in node.get("x-kubernetes-list-map-keys", ()):
        # A key is required, or has a default.
        assert key in node["items"]["required"] or "default" in node["items"]["properties"][key]
    if node.get("x-kubernetes-embedded-resource"):
        assert {"apiVersion", "kind", "metadata"} <= set(node["properties"])
    if "default" in node:
        assert "enum" not in node or node["default"] in node["enum"]
        assert not node.get("nullable") or node["default"] is not None
    for rule in node.get("x-kubernetes-validations", ()):
        assert rule["rule"] == rule["rule"].strip()
    assert not {"properties", "additionalProperties"} <= set(node)
