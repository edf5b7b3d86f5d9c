"""The definitions of our kinds against spec/node.md 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mco.api import resources
from mco.api.crds import definitions

BY_KIND = {body["spec"]["names"]["kind"]: body for body in definitions()}


@pytest.mark.parametrize(
    ("kind", "name", "short", "status", "managed"),
    [
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
    (version,) = spec["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True)
    assert ("subresources" in version) is status
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
    (version,) = BY_KIND[kind]["spec"]["versions"]
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


@pytest.mark.parametrize("kind", sorted(BY_KIND))
def test_schemas_are_structural(kind: str) -> None:
    for node in _nodes(_schema(kind)):
        assert "type" in node or node.get("x-kubernetes-int-or-string")
        if node.get("type") == "array":
            assert node["x-kubernetes-list-type"] in ("atomic", "set", "map")
        for name in node.get("required", ()):
            assert name in node["properties"]
        for key in node.get("x-kubernetes-list-map-keys", ()):
            assert key in node["items"]["required"]
