"""Whether a pool's configuration was made by this version of the installation (spec/operator.md 1.14; cases
in 8.1)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import NotFound
from mco.plan.installation.pooltext import pool_text

Lookup = Callable[[str], MachineConfig]
"""A MachineConfig by name; raises NotFound."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """`controller` is the commit that renders, `release` the installation's version, `os_image` the image of
    nodes whose MachineConfigs name none."""

    controller: str
    release: str
    os_image: str = ""


def problem(pool: MachineConfigPool, lookup: Lookup, expected: Expected) -> str:
    """Why the configuration is not valid, in the original's words; empty when it is."""
    suffix = f": {pool_text(pool)}"
    spec, status = pool.spec.configuration, pool.status.configuration
    for name, part in ((spec.name, "spec"), (status.name, "status")):
        if not name:
            return f"configuration {part} for pool {pool.name} is empty{suffix}"
    if not status.source:
        text = "list of MachineConfigs that were used to generate configuration for pool"
        return f"{text} {pool.name} is empty{suffix}"
    try:
        rendered = lookup(spec.name)
        wrong = _made_by_another(pool, rendered, lookup, expected)
    except NotFound as error:
        return error.message
    return f"{wrong}{suffix}" if wrong else _differs(pool, rendered, expected)


def _made_by_another(
    pool: MachineConfigPool, rendered: MachineConfig, lookup: Lookup, expected: Expected
) -> str:
    if rendered.metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION) is None:
        return f"{rendered.name} must be created by controller version {expected.controller}"
    sources = (lookup(source.name) for source in pool.status.configuration.source or ())
    for config in (rendered, *sources):
        # A MachineConfig without the annotation is a person's.
        version = config.metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION)
        if version not in (None, expected.controller):
            text = f"controller version mismatch for {config.name}"
            return f"{text} expected {expected.controller} has {version}"
    return ""


def _differs(pool: MachineConfigPool, rendered: MachineConfig, expected: Expected) -> str:
    where = f"mismatch for {pool.name} in {rendered.name} expected"
    image, release = rendered.spec.os_image_url, rendered.metadata.annotation(names.RELEASE_IMAGE_VERSION)
    overridden = rendered.metadata.annotation(names.OS_IMAGE_OVERRIDDEN) is not None
    if image != expected.os_image and not overridden:
        return f"osImageURL {where}: {expected.os_image} got: {image}"
    if release != expected.release:
        return f"release image version {where}: {expected.release} got: {release or ''}"
    return ""


class NoConfig(NotFound):
    """The MachineConfig is not there; the message is the API server's."""

    def __init__(self, name: str) -> None:
        super().__init__(f'machineconfig.{names.GROUP} "{name}" not found', subject=f"MachineConfig/{name}")
