"""Reading a payload and choosing from it (spec/operator.md 6.1, 6.5)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.base.errors import InvalidInput
from mco.payload.filters import Override, Selection, left_out
from mco.payload.manifest import CREATE_ONLY, DELETE, Manifest, read

PROFILE = "include.release.openshift.io/self-managed-high-availability"
GATE = "release.openshift.io/feature-gate"
SET = "release.openshift.io/feature-set"
MAJOR = "release.openshift.io/major-version"
CAPABILITY = "capability.openshift.io/name"

TEXT = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def test_files_in_the_order_of_their_names_and_documents_in_theirs() -> None:
    found = read(
        {
            "0000_90_b.yaml": TEXT % b"d",
            "0000_80_b.yml": TEXT % b"b" + b"---\n" + TEXT % b"c",
            "0000_80_a.json": b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
            "image-references": b"not: [a manifest",
            "README.md": b"",
        }
    )
    assert [m.identity.name for m in found] == ["a", "b", "c", "d"]
    assert found[2].place == "0000_80_b.yml, line 5"


def test_a_list_stands_for_its_items() -> None:
    text = b"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
    assert [str(m.identity) for m in read({"a.yaml": text})] == ['secret "s"']


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"a: [b\n", "a.yaml"),
        (b"---\n\n- 1\n", "a.yaml, line 3: apiVersion is not set"),
        (b"apiVersion: v1\nmetadata: {name: a}\n", "line 1: kind is not set"),
        (b"apiVersion: v1\nkind: Secret\n", "line 1: metadata.name is not set"),
        (b"apiVersion: v1\nkind: Secret\nmetadata: {name: 3}\n", "metadata.name is not set"),
        (
            TEXT % b"a" + b"---\n" + TEXT % b"a",
            'configmap "a" stands twice: a.yaml, line 1 and a.yaml, line 5',
        ),
    ],
)
def test_what_is_no_payload_is_named(text: bytes, part: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read({"a.yaml": text})
    assert part in f"{caught.value.subject} {caught.value}"


def manifest(annotations: dict[str, str] | None, *, kind: str = "ConfigMap", api: str = "v1") -> Manifest:
    metadata: dict[str, Any] = {"name": "m", "namespace": "ns"}
    if annotations is not None:
        metadata["annotations"] = annotations
    return Manifest("f.yaml", 1, {"apiVersion": api, "kind": kind, "metadata": metadata})


def included(**annotations: str) -> dict[str, str]:
    return {PROFILE: "true"} | annotations


@pytest.mark.parametrize(
    ("found", "wanted", "reason"),
    [
        (manifest(None), Selection(), "no annotations"),
        (manifest({"other": "x"}), Selection(), f"{PROFILE} unset"),
        (manifest({PROFILE: "True"}), Selection(), "unrecognized value"),
        (manifest(included()), Selection(), ""),
        (manifest(included()), Selection(profile="single-node-developer"), "unset"),
        (
            manifest(included() | {"exclude.release.openshift.io/x": "true"}),
            Selection(exclude="x"),
            "exclude",
        ),
        (manifest(included() | {"exclude.release.openshift.io/x": "true"}), Selection(exclude="y"), ""),
        (manifest(included() | {SET: ""}), Selection(), ""),
        (manifest(included() | {SET: "Default,TechPreviewNoUpgrade"}), Selection(), ""),
        (manifest(included() | {SET: "TechPreviewNoUpgrade"}), Selection(), "is not among"),
        (
            manifest(included() | {SET: "TechPreviewNoUpgrade"}),
            Selection(feature_set="TechPreviewNoUpgrade"),
            "",
        ),
        (manifest(included() | {SET: "Strange"}), Selection(), "is not known"),
        (manifest(included() | {GATE: "A"}), Selection(), "feature gate A is off"),
        (manifest(included() | {GATE: "A,-B"}), Selection(feature_gates=frozenset("A")), ""),
        (manifest(included() | {GATE: "A,-B"}), Selection(feature_gates=frozenset("AB")), "B is on"),
        (
            manifest(included() | {GATE: "A", SET: "Default"}),
            Selection(feature_gates=frozenset("A")),
            "exclude each other",
        ),
        (manifest(included() | {CAPABILITY: "A+B"}), Selection(capabilities=frozenset("A")), "B"),
        (manifest(included() | {CAPABILITY: "A+B"}), Selection(capabilities=frozenset("AB")), ""),
        (manifest(included() | {MAJOR: "4"}), Selection(major_version=5), ""),
        (
            manifest(included() | {MAJOR: "4"}, kind="FeatureGate", api="config.openshift.io/v1"),
            Selection(major_version=5),
            "is not in 4",
        ),
        (manifest(included()), Selection(unmanaged=(Override("", "ConfigMap", "m", "ns"),)), "unmanaged"),
        (manifest(included()), Selection(unmanaged=(Override("", "ConfigMap", "m", "other"),)), ""),
    ],
)
def test_what_belongs_to_an_installation(found: Manifest, wanted: Selection, reason: str) -> None:
    said = left_out(found, wanted)
    assert reason in said if reason else said == ""


def test_deletion_and_creation_only() -> None:
    assert manifest({DELETE: "true"}).deletes
    assert not manifest({}).deletes
    with pytest.raises(InvalidInput, match='is "yes"'):
        _ = manifest({DELETE: "yes"}).deletes
    assert manifest({CREATE_ONLY: "TRUE"}).create_only
    assert not manifest({}).create_only
