"""What a rendered config says of itself beside its spec: who owns it, and what made it."""

from __future__ import annotations

from typing import Any

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.render.checks import Versions


def metadata(name: str, pool: MachineConfigPool, annotations: dict[str, str]) -> dict[str, Any]:
    """Without labels, so that no pool selects it."""
    owner = {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfigPool",
        "name": pool.name,
        "uid": pool.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"name": name, "annotations": annotations, "ownerReferences": [owner]}


def made_by(controller: ControllerConfig, versions: Versions, *, overridden: bool) -> dict[str, str]:
    """`overridden`: a MachineConfig replaced the base OS image."""
    found = {
        names.GENERATED_BY_CONTROLLER_VERSION: versions.hash,
        names.RELEASE_IMAGE_VERSION: controller.metadata.annotation(names.RELEASE_IMAGE_VERSION) or "",
    }
    return found | ({names.OS_IMAGE_OVERRIDDEN: "true"} if overridden else {})
