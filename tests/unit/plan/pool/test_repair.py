"""spec/render.md 1.6, ApplyMachineConfig."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.plan.pool.repair import is_edit, repair

SPEC: dict[str, Any] = {
    "baseOSExtensionsContainerImage": "",
    "config": {"ignition": {"version": "3.5.0"}},
    "extensions": [],
    "fips": False,
    "kernelArguments": ["nosmt"],
    "kernelType": "default",
    "osImageURL": "image",
}
OWNER = {"apiVersion": "v1", "kind": "MachineConfigPool", "name": "worker", "uid": "u", "controller": True}


def rendered(metadata: dict[str, Any] | None = None, **spec: Any) -> MachineConfig:
    base = {"name": "r", "resourceVersion": "7", "annotations": {"by": "hash"}, "ownerReferences": [OWNER]}
    return msgspec.json.decode(
        msgspec.json.encode({"metadata": base | (metadata or {}), "spec": SPEC | spec}), type=MachineConfig
    )


def changes(found: MachineConfig) -> dict[str, Any] | None:
    patch = repair(found, rendered())
    if patch is None:
        return None
    test, *others = patch
    assert test == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    return {change["path"]: change["value"] for change in others}


def test_an_intact_config_is_left_alone() -> None:
    assert changes(rendered()) is None
    assert changes(rendered({"labels": {"mine": "x"}, "annotations": {"by": "hash", "mine": "x"}})) is None


@pytest.mark.parametrize(
    ("tampered", "repaired"),
    [
        ({"osImageURL": "other"}, {"/spec/osImageURL": "image"}),
        ({"kernelType": "realtime"}, {"/spec/kernelType": "default"}),
        ({"baseOSExtensionsContainerImage": "other"}, None),
        ({"kernelArguments": []}, {"/spec/kernelArguments": ["nosmt"]}),
        ({"fips": True}, {"/spec/fips": False}),
        ({"extensions": ["usbguard"]}, {"/spec/extensions": []}),
        (
            {"config": {"ignition": {"version": "3.5.0"}, "systemd": {"units": [{"name": "x.service"}]}}},
            {"/spec/config": {"ignition": {"version": "3.5.0"}}},
        ),
    ],
)
def test_a_changed_spec_is_put_back(tampered: dict[str, Any], repaired: dict[str, Any] | None) -> None:
    assert changes(rendered(**tampered)) == repaired


def test_metadata_are_added_to_what_is_there() -> None:
    assert changes(rendered({"annotations": {"by": "other", "mine": "x"}})) == {
        "/metadata/annotations": {"by": "hash", "mine": "x"}
    }
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"}
    (owners,) = (changes(rendered({"ownerReferences": [other]})) or {}).values()
    assert [owner["uid"] for owner in owners] == ["c", "u"]


BY = names.GENERATED_BY_CONTROLLER_VERSION


@pytest.mark.parametrize(
    ("found", "edited"),
    [
        (rendered({"annotations": {BY: "new", "by": "hash"}}), False),
        (rendered({"annotations": {BY: "old", "by": "hash"}}), False),
        (rendered({"annotations": {BY: "old", "by": "hash", "mine": "x"}}), False),
        (rendered({"annotations": {"by": "hash"}}), True),
        (rendered({"annotations": {BY: "old", "by": "else"}}), True),
        (rendered({"annotations": {BY: "old", "by": "hash"}}, kernelArguments=[]), True),
        (rendered({"annotations": {BY: "old", "by": "hash"}, "ownerReferences": []}), True),
    ],
)
def test_another_version_of_ours_is_no_edit(found: MachineConfig, edited: bool) -> None:
    assert is_edit(found, rendered({"annotations": {BY: "new", "by": "hash"}})) == edited
