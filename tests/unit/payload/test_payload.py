"""The payload as it is shipped: names, order, who gets it, and that nothing takes permissions too early."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.crds import DEFINITIONS
from mco.api.policies import POLICIES
from mco.base.errors import InvalidInput
from mco.payload import operands
from mco.payload.filters import Selection, left_out
from mco.payload.graph import Mode, build
from mco.payload.image import NAME as IMAGE
from mco.payload.manifest import CREATE_ONLY, Manifest, read
from mco.payload.source.deploy import KUSTOMIZATION
from mco.payload.source.metadata import PROFILES
from mco.payload.source.permissions import GRANTS, objects
from mco.runtime import version

FOLDER = resources.files("mco.payload")
ENTRIES = list((FOLDER / "manifests").iterdir())
FILES = {entry.name: entry.read_bytes() for entry in ENTRIES if entry.name != KUSTOMIZATION}
PAYLOAD = read(FILES)
OPERANDS = operands.load(operands.Setting(image="example/image:7", server="https://api.example:6443"))
EVERYTHING = [*PAYLOAD, *OPERANDS]

_NAMESPACED = {
    *("ConfigMap", "DaemonSet", "Deployment", "PrometheusRule", "Role", "RoleBinding", "Service"),
    *("ServiceAccount", "ServiceMonitor"),
}
_CLUSTER = {
    *("ClusterOperator", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
}
_RUN_LEVEL = re.compile(r"0000_\d\d_machine-config_\d\d_[a-z0-9.-]+\.yaml")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_TAKES = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount")


def by_file(manifests: list[Manifest]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("manifest", manifests, ids=lambda manifest: manifest.file)


def gate(manifests: list[Manifest]) -> Manifest:
    (found,) = (manifest for manifest in manifests if manifest.kind == "ClusterOperator")
    return found


def too_early(manifests: list[Manifest]) -> list[str]:
    """Deletions that could happen before the new version has reported itself."""
    level = gate(manifests).level
    assert level is not None
    return [m.file for m in manifests if m.deletes and (m.level is None or m.level[0] <= level[0])]


# Order


def test_removals_come_after_the_gate() -> None:
    """spec/operator.md 0.2, whatever is removed."""
    assert any(manifest.deletes and manifest.kind in _TAKES for manifest in PAYLOAD)
    assert too_early(PAYLOAD) == []


def test_a_removal_beside_the_gate_is_found() -> None:
    """The fault of the report: its file sorted before the Deployment's of the same run-level."""
    (removal, *_) = (manifest for manifest in PAYLOAD if manifest.deletes)
    early = msgspec.structs.replace(removal, file="0000_80_machine-config_03_deletion.yaml")
    assert too_early([*PAYLOAD, early]) == [early.file]


def test_nothing_of_a_later_level_begins_before_the_gate_is_passed() -> None:
    graph = build(PAYLOAD, Mode.UPDATING)
    order = [manifest.file for node in graph for manifest in node.manifests]
    for node in graph:
        assert len(graph) == 1 or node.after or gate(PAYLOAD) in node.manifests
    assert all(order.index(m.file) > order.index(gate(PAYLOAD).file) for m in PAYLOAD if m.deletes)


def test_what_an_object_needs_is_there_before_it() -> None:
    order = [manifest.kind for manifest in PAYLOAD]
    first = {kind: order.index(kind) for kind in order}
    last = {kind: len(order) - 1 - order[::-1].index(kind) for kind in order}
    assert first["Namespace"] < min(first[kind] for kind in _NAMESPACED if kind in first)
    assert last["CustomResourceDefinition"] < first["ClusterOperator"]
    assert last["ConfigMap"] < first["Deployment"] < first["ClusterOperator"]
    assert last["RoleBinding"] < first["Deployment"]


# Files


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_has_one_object_and_a_run_level(name: str) -> None:
    assert _RUN_LEVEL.fullmatch(name)
    assert len(read({name: FILES[name]})) == 1


def test_definitions_have_the_original_names() -> None:
    """spec/operator.md 1.15, spec/controllerconfig.md 2; the one kind more is not ours."""
    found = {name for name in FILES if name.endswith(".crd.yaml")}
    plurals = ("clusteroperators", *(kind.plural for kind in DEFINITIONS))
    assert found == {f"0000_80_machine-config_01_{plural}.crd.yaml" for plural in plurals}
    assert sum(name.count("_03_") for name in FILES) == 2 * len(POLICIES)


@by_file(EVERYTHING)
def test_an_object_is_named_and_placed(manifest: Manifest) -> None:
    identity = manifest.identity
    parts = identity.name.split(":") if manifest.kind.startswith("ClusterRole") else [identity.name]
    assert all(_NAME.fullmatch(part) and len(part) <= 253 for part in parts)
    assert manifest.kind in _NAMESPACED | _CLUSTER
    assert bool(identity.namespace) == (manifest.kind in _NAMESPACED)


@by_file(EVERYTHING)
def test_an_object_says_who_gets_it(manifest: Manifest) -> None:
    included = [p for p in PROFILES if not left_out(manifest, everything(p))]
    assert "self-managed-high-availability" in included
    if manifest.kind in ("Deployment", "ClusterOperator") and manifest in PAYLOAD:
        assert "ibm-cloud-managed" not in included


def everything(profile: str) -> Selection:
    capabilities = frozenset(
        {"ClusterOperator", "ClusterVersion", "Infrastructure", "MachineAPI", "Monitoring", "OSImageStream"}
    )
    return Selection(profile=profile, feature_set="CustomNoUpgrade", capabilities=capabilities)


def test_no_file_names_a_registry() -> None:
    for manifest in PAYLOAD:
        for text in strings(manifest.body):
            assert not re.match(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?/[^/]+.*:", text), text
    assert {image for m in PAYLOAD for image in images(m)} == {IMAGE}
    assert {image for m in OPERANDS for image in images(m)} == {"example/image:7"}


def images(manifest: Manifest) -> Iterator[str]:
    if manifest.kind in ("Deployment", "DaemonSet"):
        yield from (c["image"] for c in manifest.body["spec"]["template"]["spec"]["containers"])


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def test_somebody_elses_definition_is_left_as_it_is() -> None:
    (definition,) = (m for m in PAYLOAD if m.identity.name == "clusteroperators.config.openshift.io")
    assert definition.annotations[CREATE_ONLY] == "true"


def test_a_policy_that_reads_an_object_is_only_there_where_that_is() -> None:
    """It would deny everything; one that reads a ConfigMap of ours allows what it says nothing about."""
    kinds = {m.file: m.body.get("spec", {}).get("paramKind", {}).get("kind", "") for m in PAYLOAD}
    readers = {file for file, kind in kinds.items() if kind not in ("", "ConfigMap")}
    bare = {m.file for m in PAYLOAD if not left_out(m, Selection(feature_set="CustomNoUpgrade"))}
    assert readers and not readers & bare


# Workloads


WORKLOADS = [m for m in EVERYTHING if m.kind in ("Deployment", "DaemonSet")]


@by_file(WORKLOADS)
def test_a_component_runs_as_itself_and_says_who_it_is(manifest: Manifest) -> None:
    """What a leader's successor needs to know that it is gone (spec/operator.md 2.1)."""
    pod = manifest.body["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    env = {variable["name"]: variable for variable in container["env"]}
    for name, path in (
        ("POD_NAME", "metadata.name"),
        ("POD_NAMESPACE", "metadata.namespace"),
        ("POD_UID", "metadata.uid"),
        ("NODE_NAME", "spec.nodeName"),
    ):
        assert env[name]["valueFrom"]["fieldRef"]["fieldPath"] == path
    assert env["CONTAINER_NAME"]["value"] == container["name"]
    assert container["terminationMessagePolicy"] == "File"
    assert pod["terminationGracePeriodSeconds"] > 30
    assert pod["serviceAccountName"] in {grants.component for grants in GRANTS}
    assert manifest.body["spec"]["selector"]["matchLabels"].items() <= labels(manifest).items()


def labels(manifest: Manifest) -> dict[str, str]:
    return dict(manifest.body["spec"]["template"]["metadata"]["labels"])


@by_file([m for m in WORKLOADS if m.kind == "Deployment"])
def test_two_of_a_leader_are_never_there_together(manifest: Manifest) -> None:
    assert manifest.body["spec"]["replicas"] == 1
    assert manifest.body["spec"]["strategy"] == {"type": "Recreate"}


@by_file([m for m in WORKLOADS if m.identity.name != "machine-config-daemon"])
def test_only_the_daemon_may_anything_on_its_node(manifest: Manifest) -> None:
    (container,) = manifest.body["spec"]["template"]["spec"]["containers"]
    context = container["securityContext"]
    assert context["runAsNonRoot"] and context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"] and context["capabilities"] == {"drop": ["ALL"]}


def test_who_is_on_the_hosts_network_reaches_the_api_as_machines_do() -> None:
    for manifest in OPERANDS:
        pod = manifest.body["spec"]["template"]["spec"]
        env = {v["name"]: v.get("value") for v in pod["containers"][0]["env"]}
        address = (env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT"))
        assert address == (("api.example", "6443") if pod.get("hostNetwork") else (None, None))
    server = OPERANDS[-1].body["spec"]["template"]["spec"]["containers"][0]
    assert "--apiserver-url=https://api.example:6443" in server["args"]


# Permissions


@pytest.mark.parametrize("grants", GRANTS, ids=lambda grants: grants.component)
def test_permissions_are_named_and_belong_to_one_account(grants: Any) -> None:
    bodies = objects(grants).values()
    (account,) = (b["metadata"]["name"] for b in bodies if b["kind"] == "ServiceAccount")
    for body in bodies:
        if body["kind"].endswith("Binding"):
            assert body["subjects"] == [
                {"kind": "ServiceAccount", "name": account, "namespace": names.NAMESPACE}
            ]
            assert body["roleRef"]["kind"] == body["kind"].removesuffix("Binding")
        for rule in body.get("rules", ()):
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])


@pytest.mark.parametrize("grants", GRANTS, ids=lambda grants: grants.component)
def test_nobody_reads_secrets_in_the_whole_cluster_or_hands_out_permissions(grants: Any) -> None:
    for rule in grants.cluster:
        assert "secrets" not in rule.resources
    for rule in (*grants.cluster, *(rule for each in grants.inside for rule in each.rules)):
        assert rule.group != "rbac.authorization.k8s.io"


# The images file


def test_the_images_file_is_this_versions(tmp_path: Any) -> None:
    (images_map,) = (m for m in PAYLOAD if m.kind == "ConfigMap")
    file = tmp_path / "images.json"
    file.write_text(images_map.body["data"]["images.json"])
    assert operands.read_images(file)["machineConfigOperator"] == IMAGE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"releaseVersion": "0.0.1", "machineConfigOperator": "x"}', "refusing to read images.json version"),
        ("{", "could not parse images.json bytes"),
        ('{"releaseVersion": "0.0.1"}', "could not parse images.json bytes"),
    ],
)
def test_an_images_file_of_somebody_else(tmp_path: Any, text: str, said: str) -> None:
    file = tmp_path / "images.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=said) as caught:
        operands.read_images(file)
    assert caught.value.path == str(file)


def test_another_image_is_put_in_everywhere() -> None:
    (images_map,) = (m for m in PAYLOAD if m.kind == "ConfigMap")
    changed = operands.with_image(images_map.body, "example/image:7")
    assert msgspec.json.decode(changed["data"]["images.json"]) == {
        "machineConfigOperator": "example/image:7",
        "releaseVersion": version.RAW,
    }
    reported = operands.with_image(gate(PAYLOAD).body, "example/image:7")["status"]["versions"]
    assert {"name": "operator-image", "version": "example/image:7"} in reported
