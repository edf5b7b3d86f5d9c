"""When the boot images of a release may be used: not before its config has reached a control-plane node
(spec/operator.md 1.8)."""

from __future__ import annotations

from collections.abc import Mapping

from mco.api import machineconfigpool as mcp
from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.plan.installation.poolvalidity import Expected

CONFIG_MAP = "coreos-bootimages"
VERSION_HASH, RELEASE_VERSION = "MCOVersionHash", "MCOReleaseImageVersion"


def reached(masters: MachineConfigPool) -> bool:
    """Whether a node of the pool has the config that the pool wants."""
    status = masters.status
    if cond.is_true(status.conditions, mcp.UPDATING) and status.updated_machine_count > 0:
        return True
    same = masters.spec.configuration.name == status.configuration.name
    return same and cond.is_true(status.conditions, mcp.UPDATED)


def made_by(rendered: MachineConfig, expected: Expected) -> bool:
    """Whether the rendered config is this release's."""
    annotation = rendered.metadata.annotation
    return (
        annotation(names.GENERATED_BY_CONTROLLER_VERSION) == expected.controller
        and annotation(names.RELEASE_IMAGE_VERSION) == expected.release
    )


def stamp(expected: Expected) -> Mapping[str, str]:
    """What the ConfigMap says then, beside what it says already."""
    return {VERSION_HASH: expected.controller, RELEASE_VERSION: expected.release}
