"""Documents as objects, and what is wrong with the others."""

from __future__ import annotations

import pytest

from mco.api import names
from mco.api.findings import Finding
from mco.api.manifests import Manifests, read
from mco.api.yaml import load_documents

API = "apiVersion: machineconfiguration.openshift.io/v1\n"
MC = (
    API
    + "kind: MachineConfig\nmetadata: {name: a, labels: {machineconfiguration.openshift.io/role: worker}}\n"
)


def manifests(*texts: str) -> Manifests:
    documents = [load_documents(text.encode(), f"f{i}.yaml") for i, text in enumerate(texts)]
    return read(document for found in documents for document in found)


def only(found: Manifests) -> Finding:
    (finding,) = found.findings
    return finding


def test_kinds_of_ours_are_typed_and_others_are_kept() -> None:
    found = manifests(
        MC + "spec: {config: {ignition: {version: 3.5.0}}, kernelArguments: [nosmt]}\n",
        API
        + "kind: MachineConfigPool\nmetadata: {name: p}\n---\n"
        + API
        + "kind: ControllerConfig\nmetadata: {name: c}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
    )
    assert [config.name for config in found.machine_configs] == ["a"]
    assert bytes(found.machine_configs[0].spec.config) == b'{"ignition":{"version":"3.5.0"}}'
    assert [pool.name for pool in found.pools] == ["p"]
    assert found.controller_config.name == "c"
    assert [other["kind"] for other in found.others] == ["ConfigMap"]
    assert found.findings == ()
    assert found.place("MachineConfigPool/p") == "f1.yaml, line 1"
    assert found.place("MachineConfig/z") == ""


def test_the_same_kind_of_another_group_is_not_ours() -> None:
    found = manifests("apiVersion: example.com/v1\nkind: MachineConfig\nmetadata: {name: a}\n")
    assert found.machine_configs == ()
    assert len(found.others) == 1


def test_lists_are_taken_apart_and_lend_kind_and_version_to_their_items() -> None:
    found = manifests(
        "apiVersion: v1\nkind: List\nitems:\n- " + MC.replace("\n", "\n  ").rstrip() + "\n",
        API + "kind: MachineConfigList\nitems:\n- metadata: {name: b}\n- metadata: {name: c}\n",
    )
    assert [config.name for config in found.machine_configs] == ["a", "b", "c"]
    assert found.findings == ()


def test_without_a_controller_config_no_image_is_known() -> None:
    assert manifests(MC).controller_config.spec.base_os_container_image == ""


def test_the_singleton_controller_config_wins() -> None:
    text = API + "kind: ControllerConfig\nmetadata: {name: %s}\n"
    found = manifests(text % "other", text % "machine-config-controller")
    assert found.controller_config.name == "machine-config-controller"


def test_an_object_that_stands_twice_names_both_places() -> None:
    finding = only(manifests("\n" + MC, "---\n" + MC))
    assert finding.level == "error"
    assert finding.subject == "MachineConfig/a"
    assert finding.message == 'MachineConfig "a" is defined twice: f0.yaml, line 2 and f1.yaml, line 2'


def test_an_unknown_field_is_a_warning_with_a_suggestion() -> None:
    found = manifests(MC + "spec: {kernelargs: [], kernelType: x, osImageUrl: y}\nstats: 1\n")
    assert [(f.level, f.path, f.message, f.hint) for f in found.findings] == [
        ("warning", "$.stats", 'unknown field "stats"', "did you mean status?"),
        ("warning", "$.spec.kernelargs", 'unknown field "spec.kernelargs"', "did you mean kernelArguments?"),
        ("warning", "$.spec.osImageUrl", 'unknown field "spec.osImageUrl"', "did you mean osImageURL?"),
    ]
    assert len(found.machine_configs) == 1


def test_a_value_of_the_wrong_type_is_an_error_with_its_path() -> None:
    finding = only(manifests(MC + "spec: {kernelArguments: [1]}\n"))
    assert (finding.subject, finding.path) == ("MachineConfig/a", "$.spec.kernelArguments.0")
    assert finding.message == "Expected `str`, got `int`"
    assert finding.place == "f0.yaml, line 1"


def test_documents_that_are_no_objects() -> None:
    found = manifests("just text\n", "a: 1\n", "kind: X\n", "apiVersion: v1\nkind: [x]\n")
    assert [f.message for f in found.findings] == [
        "the document is not an object",
        "apiVersion and kind not set",
        "apiVersion not set",
        "kind not set",
    ]
    assert all(f.level == "error" and f.place for f in found.findings)


def test_an_object_needs_a_name() -> None:
    finding = only(manifests(API + "kind: MachineConfig\nmetadata: {generateName: x-}\n"))
    assert finding.message == "resource name may not be empty"
    assert "generateName" in finding.hint


@pytest.mark.parametrize(
    ("version", "kind", "path"),
    [
        (names.API_VERSION, "MachineConfg", "$.kind"),
        (f"{names.GROUP}/v1beta1", "MachineConfig", "$.apiVersion"),
        ("v1", "MachineConfigPool", "$.apiVersion"),
    ],
)
def test_what_is_nearly_ours_is_not_left_out_without_a_word(version: str, kind: str, path: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n"
    (found,) = read(load_documents(text.encode(), "f.yaml")).findings
    assert (found.level, found.subject, found.path) == ("warning", f"{kind}/a", path)
    assert "the object is ignored" in found.message
    assert found.hint and found.place == "f.yaml, line 1"


@pytest.mark.parametrize(
    ("version", "kind"), [("apps/v1", "Deployment"), (names.API_VERSION, "KubeletConfig"), ("v1", "Secret")]
)
def test_foreign_objects_are_nobodys_mistake(version: str, kind: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n"
    assert read(load_documents(text.encode(), "f.yaml")).findings == ()
