"""Whether the cluster may be upgraded: no broken pool, and boot images that are not too old
(spec/operator.md 1.3, 1.4; cases in 8.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mco.api import machineconfigpool as mcp
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.machineconfiguration import BootImageSkew, BootImageVersions, MachineConfiguration
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.plan.installation import bootimages
from mco.plan.installation.conditions import UPGRADEABLE

DEGRADED_POOL = "DegradedPool"
INTERRUPTED_BUILD = "InterruptedBuild"
BOOT_IMAGE_SKEW = "ClusterBootImageSkewError"
OLDEST_RELEASE = (4, 13, 0)
OLDEST_OS = (9, 2)
_BUILD_INTERRUPTED = "BuildInterrupted"
_SEE = "please see `oc get mcp` for further details and resolve before upgrading"
_DOCUMENTATION = (
    "https://docs.redhat.com/en/documentation/openshift_container_platform/{release}"
    "/html/machine_configuration/mco-update-boot-images"
)


def blocked(pools: Iterable[MachineConfigPool], skew: str = "") -> Condition | None:
    """The condition that says so; None when nothing speaks against it. A pool's trouble outranks `skew`."""
    for pool in sorted(pools, key=lambda pool: pool.name):
        if cond.is_true(pool.status.conditions, mcp.DEGRADED):
            return _false(DEGRADED_POOL, f"One or more machine config pools are degraded, {_SEE}")
        build = cond.find(pool.status.conditions, mcp.IMAGE_BUILD_DEGRADED)
        if build and build.status == cond.TRUE and build.reason == _BUILD_INTERRUPTED:
            text = f"One or more machine config pools' builds have been interrupted, {_SEE}"
            return _false(INTERRUPTED_BUILD, text)
    return _false(BOOT_IMAGE_SKEW, skew) if skew else None


def skew(configuration: MachineConfiguration | None, history: Sequence[str], *, enforced: bool) -> str:
    """What is wrong with the boot images; empty for nothing. `history` are the cluster's versions, the newest
    first; `enforced` is the feature gate."""
    found = configuration.status.boot_image_skew_enforcement_status if configuration else None
    if not enforced or configuration is None or found is None or found.mode in ("", bootimages.NONE):
        return ""
    if found.mode == bootimages.AUTOMATIC:
        degraded = cond.find(configuration.status.conditions, bootimages.DEGRADED)
        if degraded and degraded.status == cond.TRUE:
            text = "Upgrades have been disabled due to boot image update failures"
            return f"{text}: boot image controller is degraded: {degraded.message}"
        moving = cond.find(configuration.status.conditions, bootimages.PROGRESSING)
        if moving is None or moving.status == cond.TRUE:
            return ""
    return _too_old(found, history)


def os_version(text: str) -> tuple[int, int] | None:
    """The release of the operating system that a version of it names, of either scheme; None for anything
    else."""
    parts = text.split(".")
    if len(parts) < 3:
        return None
    if any(re.match(r"[0-9]{8}(?![0-9])", part) for part in parts[1:3]):
        return _numbers(parts[:2])
    if re.match(r"[0-9]{12}(?![0-9])", parts[2]) and len(parts[1]) >= 2:
        return _numbers((parts[1][0], parts[1][1:]))
    return None


def _too_old(found: BootImageSkew, history: Sequence[str]) -> str:
    """The release decides; only without one the operating system does."""
    versions = found.automatic if found.mode == bootimages.AUTOMATIC else found.manual
    reason = (_old_release(versions.ocp_version) or _old_system(versions)) if versions else ""
    if not reason:
        return ""
    newest = ".".join(history[0].split(".")[:2]) if history else "latest"
    return (
        f"Upgrades have been disabled because the cluster is using {reason}. To enable upgrades, please "
        "update your boot images, or disable boot image skew enforcement, following the documentation at "
        f"{_DOCUMENTATION.format(release=newest)}"
    )


def _old_release(version: str) -> str:
    """What is wrong with a release, in the original's words; empty for nothing."""
    release = tuple(int(part) for part in re.findall(r"[0-9]+", version)[:3])
    if not release or release >= OLDEST_RELEASE:
        return ""
    least = ".".join(map(str, OLDEST_RELEASE))
    return f"OCP boot image version {version}, which is below the minimum required version {least}"


def _old_system(versions: BootImageVersions) -> str:
    system = None if versions.ocp_version else os_version(versions.rhcos_version)
    if system is None or system >= OLDEST_OS:
        return ""
    release, least = (".".join(map(str, version)) for version in (system, OLDEST_OS))
    return (
        f"RHCOS boot image version {versions.rhcos_version}(RHEL version: {release}), which is below the "
        f"minimum required RHEL version {least}"
    )


def _numbers(parts: Sequence[str]) -> tuple[int, int] | None:
    return (int(parts[0]), int(parts[1])) if all(part.isdigit() for part in parts) else None


def _false(reason: str, message: str) -> Condition:
    return Condition(type=UPGRADEABLE, status=cond.FALSE, reason=reason, message=message)
