"""Whose boot images are kept up to date, and what is enforced of them (spec/operator.md 1.8; cases in 8.5).

What somebody configured holds, resource by resource; the rest depends on where the cluster runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mco.api.gates import BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES
from mco.api.machineconfiguration import (
    BootImageSkew,
    BootImageVersions,
    MachineConfiguration,
    MachineManager,
    MachineSelection,
    ManagedBootImages,
    ManualBootImage,
)
from mco.api.meta import conditions as cond
from mco.plan.installation.discovered import Document, platform_type, topology
from mco.plan.node.step import SINGLE_REPLICA

DEGRADED, PROGRESSING = "BootImageUpdateDegraded", "BootImageUpdateProgressing"
"""Conditions of the MachineConfiguration, by whoever updates boot images."""
MACHINE_SETS, CONTROL_PLANE = "machinesets", "controlplanemachinesets"
MACHINE_API = "machine.openshift.io"
ALL, NONE = "All", "None"
AUTOMATIC, MANUAL = "Automatic", "Manual"
BARE_METAL = "BareMetal"
UNKNOWN_RELEASE = "0.0.0"
_COMPLETED = "Completed"
_STACK_CLOUD = "AzureStackCloud"


class Support(msgspec.Struct, frozen=True):
    """What can be managed on a platform. MachineSets are, unless somebody says otherwise; the control plane
    is not."""

    machine_sets: bool = False
    control_plane: bool = False


_SUPPORT: Mapping[str, Support] = {
    "AWS": Support(machine_sets=True, control_plane=True),
    "Azure": Support(machine_sets=True, control_plane=True),
    "GCP": Support(machine_sets=True, control_plane=True),
    "VSphere": Support(machine_sets=True),
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cluster runs, and what it was installed as. `legacy` tells of BareMetal whether its machines
    boot from an image of their own that nothing updates."""

    infrastructure: Document
    gates: Collection[str]
    installed: str
    legacy: bool = False

    @property
    def support(self) -> Support:
        azure = ((self.infrastructure.get("status") or {}).get("platformStatus") or {}).get("azure") or {}
        if azure.get("cloudName") == _STACK_CLOUD:
            return Support()
        return _SUPPORT.get(platform_type(self.infrastructure), Support())


class BootImages(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a MachineConfiguration's status as they have to be. `opted_in`: MachineSets are managed from
    now on because nobody said otherwise."""

    managed: ManagedBootImages
    skew: BootImageSkew | None
    opted_in: bool


def decide(configuration: MachineConfiguration, place: Place) -> BootImages:
    managed = _managed(configuration.spec.managed_boot_images, place)
    before = _selection(configuration.status.managed_boot_images_status, MACHINE_SETS)
    by_default = _selection(configuration.spec.managed_boot_images, MACHINE_SETS) is None
    return BootImages(
        managed=managed,
        skew=_skew(configuration, managed, place),
        opted_in=by_default and _selection(managed, MACHINE_SETS) == ALL and before in (None, NONE),
    )


def install_version(history: Sequence[Mapping[str, Any]]) -> str:
    """Of a ClusterVersion's history, the newest first: the oldest release that was completed, else the oldest
    that was tried, as major.minor.patch."""
    completed = [entry for entry in history if entry.get("state") == _COMPLETED]
    oldest = next(iter((completed or history)[-1:]), {})
    found = re.match(r"[0-9]+\.[0-9]+\.[0-9]+", str(oldest.get("version", "")))
    return found.group() if found else UNKNOWN_RELEASE


def asks_about_provisioning(configuration: MachineConfiguration, place: Place) -> bool:
    """Whether `Place.legacy` makes a difference."""
    open_ = configuration.spec.boot_image_skew_enforcement is None and BOOT_IMAGE_SKEW in place.gates
    return open_ and platform_type(place.infrastructure) == BARE_METAL


def failure(configuration: MachineConfiguration) -> str:
    """Why boot images could not be updated, in the original's words; empty for nothing."""
    said = cond.find(configuration.status.conditions, DEGRADED)
    if said is None or said.status != cond.TRUE:
        return ""
    return f"bootimage update failed: {said.message}"


def _managed(wanted: ManagedBootImages, place: Place) -> ManagedBootImages:
    opinions = wanted.machine_managers
    if opinions is not None and not opinions:
        return wanted
    support = place.support
    made = list(opinions or ())
    if support.machine_sets and _selection(wanted, MACHINE_SETS) is None:
        made.append(_manager(MACHINE_SETS, ALL))
    gated = support.control_plane and CPMS_BOOT_IMAGES in place.gates
    if gated and _selection(wanted, CONTROL_PLANE) is None:
        made.append(_manager(CONTROL_PLANE, NONE))
    return ManagedBootImages(machine_managers=tuple(made) or None)


def _skew(
    configuration: MachineConfiguration, managed: ManagedBootImages, place: Place
) -> BootImageSkew | None:
    """What the status says already where the feature is off."""
    known = configuration.status.boot_image_skew_enforcement_status
    if BOOT_IMAGE_SKEW not in place.gates:
        return known
    wanted = configuration.spec.boot_image_skew_enforcement
    if wanted is not None:
        return wanted
    fixed = platform_type(place.infrastructure) == BARE_METAL and not place.legacy
    if fixed or topology(place.infrastructure) == SINGLE_REPLICA:
        return BootImageSkew(mode=NONE)
    if place.support.machine_sets and _selection(managed, MACHINE_SETS) == ALL:
        if known is not None and known.mode == AUTOMATIC:
            return known
        return BootImageSkew(mode=AUTOMATIC, automatic=BootImageVersions(ocp_version=place.installed))
    by_hand = ManualBootImage(mode="OCPVersion", ocp_version=place.installed)
    return BootImageSkew(mode=MANUAL, manual=by_hand)


def _selection(images: ManagedBootImages, resource: str) -> str | None:
    """How the machines of a resource are selected; None when nothing is said of it."""
    managers: Iterable[MachineManager] = images.machine_managers or ()
    return next((each.selection.mode for each in managers if each.resource == resource), None)


def _manager(resource: str, mode: str) -> MachineManager:
    return MachineManager(resource=resource, api_group=MACHINE_API, selection=MachineSelection(mode=mode))
