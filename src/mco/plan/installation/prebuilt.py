"""Images that were built before there was a cluster, as MachineConfigs of their pools (spec/operator.md
1.10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineosconfig import SEEDED, MachineOSConfig
from mco.api.meta import conditions as cond


def name(pool: str) -> str:
    """Of the pool's MachineConfig."""
    return f"10-prebuiltimage-osimageurl-{pool}"


def machine_config(pool: str, image: str) -> dict[str, Any]:
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {
            "name": name(pool),
            "labels": {names.ROLE_LABEL: pool},
            "annotations": {names.PRE_BUILT_IMAGE: image},
        },
        "spec": {"osImageURL": image},
    }


class PreBuilt(msgspec.Struct, frozen=True, kw_only=True):
    """`images` by the pool that has to have one, `unneeded` are pools that have one for nothing. `lost`:
    sentences about those whose image nobody knows any more."""

    images: Mapping[str, str]
    unneeded: tuple[str, ...]
    lost: tuple[str, ...]


def decide(configs: Iterable[MachineOSConfig], existing: Mapping[str, str]) -> PreBuilt:
    """`existing` are the images of the MachineConfigs that are there, by pool: they stay as they are for as
    long as their pool has a MachineOSConfig."""
    images: dict[str, str] = {}
    lost: list[str] = []
    for config in configs:
        pool = config.spec.machine_config_pool.name
        image = existing.get(pool) or config.metadata.annotation(names.PRE_BUILT_IMAGE)
        if image:
            images[pool] = image
        elif cond.is_true(config.status.conditions, SEEDED):
            lost.append(
                f'MachineOSConfig "{config.name}" for pool "{pool}" was seeded with a pre-built image but '
                "the component MachineConfig is missing - this is required for install-time OCL"
            )
    unneeded = tuple(pool for pool in existing if pool not in images)
    return PreBuilt(images=images, unneeded=unneeded, lost=tuple(lost))
