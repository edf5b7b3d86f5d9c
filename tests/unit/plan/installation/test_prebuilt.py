"""spec/operator.md 1.10: images that were built before there was a cluster."""

from __future__ import annotations

import pytest

from mco.api import names
from mco.api.machineconfignode import Reference
from mco.api.machineosconfig import MachineOSConfig, MachineOSConfigSpec, MachineOSConfigStatus
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import ObjectMeta
from mco.plan.installation.prebuilt import decide, machine_config


def config(pool: str, image: str = "", *, seeded: str = "False") -> MachineOSConfig:
    annotations = {names.PRE_BUILT_IMAGE: image} if image else None
    return MachineOSConfig(
        metadata=ObjectMeta(name=pool, annotations=annotations),
        spec=MachineOSConfigSpec(machine_config_pool=Reference(name=pool)),
        status=MachineOSConfigStatus(conditions=(Condition(type="Seeded", status=seeded),)),
    )


@pytest.mark.parametrize(
    ("configs", "existing", "images", "unneeded"),
    [
        ([], {}, {}, ()),
        ([config("worker", "new")], {}, {"worker": "new"}, ()),
        ([config("worker", "new")], {"worker": "old"}, {"worker": "old"}, ()),
        ([config("worker", seeded="True")], {"worker": "old"}, {"worker": "old"}, ()),
        ([config("worker")], {}, {}, ()),
        ([config("worker", "new")], {"infra": "old"}, {"worker": "new"}, ("infra",)),
    ],
)
def test_an_image_is_frozen_until_nobody_needs_it(
    configs: list[MachineOSConfig],
    existing: dict[str, str],
    images: dict[str, str],
    unneeded: tuple[str, ...],
) -> None:
    found = decide(configs, existing)
    assert (found.images, found.unneeded, found.lost) == (images, unneeded, ())


def test_one_that_was_seeded_and_is_gone() -> None:
    """The others are kept all the same."""
    found = decide([config("a", seeded="True"), config("b", "new")], {})
    assert found.images == {"b": "new"}
    assert found.lost == (
        'MachineOSConfig "a" for pool "a" was seeded with a pre-built image but the component MachineConfig '
        "is missing - this is required for install-time OCL",
    )


def test_its_machine_config() -> None:
    made = machine_config("worker", "image")
    assert made["metadata"] == {
        "name": "10-prebuiltimage-osimageurl-worker",
        "labels": {"machineconfiguration.openshift.io/role": "worker"},
        "annotations": {"machineconfiguration.openshift.io/pre-built-image": "image"},
    }
    assert made["spec"] == {"osImageURL": "image"}
