"""What a cluster of OpenShift's says of its boot images: whose are managed, how old they may be, and from
when on those of this release may be used (spec/operator.md 1.8)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.machineconfiguration import MachineConfiguration, MachineConfigurationStatus
from mco.api.resources import CONFIG_MAPS, MACHINE_CONFIGS, MACHINE_CONFIGURATIONS
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import Unreachable, describe
from mco.kube.wholes import NoSuchKind, Wholes
from mco.operator import ensure, lookup
from mco.payload.ensure import difference
from mco.plan.installation import bootimages, bootstamp
from mco.plan.installation.bootimages import BootImages, Place
from mco.plan.installation.poolvalidity import Expected
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.operator")

_PROVISIONING = {
    "apiVersion": "metal3.io/v1alpha1",
    "kind": "Provisioning",
    "metadata": {"name": "provisioning-configuration"},
}


class BootImageStatus:
    def __init__(self, client: Client, wholes: Wholes, clock: Clock) -> None:
        self._client = client
        self._wholes = wholes
        self._clock = clock

    async def keep(self, configuration: MachineConfiguration, place: Place) -> None:
        """Writes what differs. Raises ConflictError when the configuration changed meanwhile."""
        if bootimages.asks_about_provisioning(configuration, place):
            place = msgspec.structs.replace(place, legacy=await self._legacy())
        made = bootimages.decide(configuration, place)
        changes = _changes(configuration.status, made)
        if not changes:
            return
        if made.opted_in:
            # Before the status: only as long as that says nothing is it known that this is the first time.
            since = {names.BOOT_IMAGES_OPTED_IN_AT: rfc3339(self._clock.now())}
            changed = {"metadata": {"annotations": since}}
            configuration = await ensure.patched(self._client, MACHINE_CONFIGURATIONS, configuration, changed)
        await ensure.patched(
            self._client, MACHINE_CONFIGURATIONS, configuration, {"status": changes}, subresource="status"
        )

    async def stamp(self, masters: MachineConfigPool | None, expected: Expected) -> None:
        """Marks the boot images as this release's once they may be used. Nothing depends on it at once: a
        failure is only logged."""
        if masters is None or not bootstamp.reached(masters):
            return
        try:
            await self._stamp(masters, expected)
        except Unreachable:
            raise
        except MCOError as error:
            _log.warning("boot images are not stamped", **describe(error))

    async def _stamp(self, masters: MachineConfigPool, expected: Expected) -> None:
        wanted = bootstamp.stamp(expected)
        found = await lookup.found(self._client, CONFIG_MAPS, bootstamp.CONFIG_MAP, namespace=names.NAMESPACE)
        if found is None or wanted.items() <= (found.data or {}).items():
            return
        rendered = await self._client.get(MACHINE_CONFIGS, masters.spec.configuration.name)
        if bootstamp.made_by(rendered, expected):
            await ensure.patched(self._client, CONFIG_MAPS, found, {"data": dict(wanted)})
            _log.info("boot images are stamped", release=expected.release)

    async def _legacy(self) -> bool:
        """Whether machines boot from an image that somebody named; so it is taken when nobody can tell."""
        try:
            found = await self._wholes.get(_PROVISIONING)
        except NoSuchKind:
            return False
        except Unreachable:
            raise
        except MCOError as error:
            _log.warning("the provisioning of machines cannot be read", **describe(error))
            return True
        return bool(((found or {}).get("spec") or {}).get("provisioningOSDownloadURL"))


def _changes(status: MachineConfigurationStatus, made: BootImages) -> dict[str, Any]:
    """The merge patch of the status; empty when it says that already."""
    have = msgspec.structs.replace(
        MachineConfigurationStatus(),
        managed_boot_images_status=status.managed_boot_images_status,
        boot_image_skew_enforcement_status=status.boot_image_skew_enforcement_status,
    )
    wanted = msgspec.structs.replace(
        have,
        managed_boot_images_status=made.managed,
        boot_image_skew_enforcement_status=made.skew,
    )
    changes: dict[str, Any] = difference(msgspec.to_builtins(have), msgspec.to_builtins(wanted))
    return changes
