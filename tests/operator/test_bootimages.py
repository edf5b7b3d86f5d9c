"""What the operator says of boot images, on the embedded server (spec/operator.md 1.4, 1.8)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.api.gates import BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES
from mco.pki import authority
from mco.runtime import version
from tests.operator.world import SETTINGS, World, embedded, message, reason, said

SINCE = "machineconfiguration.openshift.io/boot-image-updates-opted-in-at"
STAMPED = ("v1", "ConfigMap", "coreos-bootimages", names.NAMESPACE)
PROVISIONING = "metal3.io/v1alpha1"


async def cluster(world: World, platform: str, *versions: str) -> None:
    """It has had these versions, the newest first, and enforces how old boot images are."""
    status = {"controlPlaneTopology": "HighlyAvailable", "platformStatus": {"type": platform}}
    await world.openshift("Infrastructure", "infrastructures", status=status)
    network = {"serviceNetwork": ["172.30.0.0/16"]}
    await world.openshift("Network", "networks", spec=network)
    await world.openshift("DNS", "dnses", spec={"baseDomain": "example"})
    pem = authority.create("installer", datetime.now(UTC)).certificate_pem.decode()
    await world.config_map("kube-system", "root-ca", {"ca.crt": pem})
    await world.config_map("openshift-config", "initial-kube-apiserver-server-ca", {"ca-bundle.crt": pem})
    await world.config_map("openshift-config-managed", "image-registry-ca", {})
    gates = [{"name": name} for name in (BOOT_IMAGE_SKEW, CPMS_BOOT_IMAGES)]
    await world.openshift("FeatureGate", "featuregates", status={"featureGates": [{"enabled": gates}]})
    await world.kind("ClusterVersion", "clusterversions")
    history = [{"version": each, "state": "Completed"} for each in versions]
    await world.wholes.create(
        {
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "status": {"history": history},
        }
    )


def modes(settings: dict[str, Any]) -> dict[str, str]:
    managers = settings["status"].get("managedBootImagesStatus", {}).get("machineManagers", [])
    return {each["resource"]: each["selection"]["mode"] for each in managers}


def enforced(settings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (settings.get("status") or {}).get("bootImageSkewEnforcementStatus") or {}
    return found


async def say(world: World, type_: str, status: str, text: str = "") -> None:
    """A condition, as whoever updates boot images writes it."""
    settings = await world.object(*SETTINGS)
    condition = {
        "type": type_,
        "status": status,
        "reason": "Said",
        "message": text,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    others = [each for each in settings["status"].get("conditions", []) if each["type"] != type_]
    body = {"status": {"conditions": [*others, condition]}}
    name = names.MACHINE_CONFIGURATION
    await world.client.patch(resources.MACHINE_CONFIGURATIONS, name, body, subresource="status")


async def test_machine_sets_are_managed_and_old_images_forbid_an_upgrade(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await cluster(world, "AWS", "4.22.3", "4.12.1")
        async with world.operator():
            settings = await world.until(enforced, SETTINGS)
            assert modes(settings) == {"machinesets": "All", "controlplanemachinesets": "None"}
            assert enforced(settings) == {"mode": "Automatic", "automatic": {"ocpVersion": "4.12.1"}}
            since = settings["metadata"]["annotations"][SINCE]
            await say(world, "BootImageUpdateProgressing", "False")
            found = await world.until(lambda found: said(found, "Upgradeable") == "False")
            assert reason(found, "Upgradeable") == "ClusterBootImageSkewError"
            assert "OCP boot image version 4.12.1" in message(found, "Upgradeable")
            assert "/4.22/" in message(found, "Upgradeable")
            wish = {
                "managedBootImages": {
                    "machineManagers": [
                        {
                            "resource": "machinesets",
                            "apiGroup": "machine.openshift.io",
                            "selection": {"mode": "None"},
                        }
                    ]
                },
                "bootImageSkewEnforcement": {"mode": "None"},
            }
            # What is enforced has to be settled before fewer machines can be managed.
            for part, value in reversed(wish.items()):
                body = {"spec": {part: value}}
                await world.client.patch(resources.MACHINE_CONFIGURATIONS, names.MACHINE_CONFIGURATION, body)
                if part == "bootImageSkewEnforcement":
                    await world.until(lambda found: enforced(found) == {"mode": "None"}, SETTINGS)
            settings = await world.until(lambda found: modes(found)["machinesets"] == "None", SETTINGS)
            assert settings["metadata"]["annotations"][SINCE] == since
            await world.until(lambda found: said(found, "Upgradeable") == "True")


async def test_a_failed_update_of_boot_images_fails_the_function(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await cluster(world, "AWS", "4.22.3")
        async with world.operator():
            await world.until(enforced, SETTINGS)
            await say(world, "BootImageUpdateDegraded", "True", "1 Degraded MAPI MachineSets")
            found = await world.until(lambda found: said(found, "Degraded") == "True")
            assert reason(found, "Degraded") == "MachineConfigurationFailed"
            assert "bootimage update failed: 1 Degraded MAPI MachineSets" in message(found, "Degraded")
            found = await world.until(lambda found: said(found, "Upgradeable") == "False")
            assert "boot image controller is degraded: 1 Degraded" in message(found, "Upgradeable")
            await say(world, "BootImageUpdateDegraded", "False")
            await world.until(lambda found: said(found, "Degraded") == "False")


async def test_machines_that_boot_from_an_image_of_their_own(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await cluster(world, "BareMetal", "4.22.3", "4.16.5")
        async with world.operator():
            settings = await world.until(enforced, SETTINGS)
            assert enforced(settings) == {"mode": "None"}
            assert "managedBootImagesStatus" not in settings["status"]
        await world.kind("Provisioning", "provisionings", PROVISIONING)
        provisioning: dict[str, Any] = {
            "apiVersion": PROVISIONING,
            "kind": "Provisioning",
            "metadata": {"name": "provisioning-configuration"},
            "spec": {"provisioningOSDownloadURL": "https://images.example/coreos.qcow2"},
        }
        await world.wholes.create(provisioning)
        async with world.operator():
            settings = await world.until(lambda found: enforced(found)["mode"] == "Manual", SETTINGS)
            assert enforced(settings)["manual"] == {"mode": "OCPVersion", "ocpVersion": "4.16.5"}
        await world.wholes.patch(provisioning, {"spec": {"provisioningOSDownloadURL": ""}})
        async with world.operator():
            await world.until(lambda found: enforced(found) == {"mode": "None"}, SETTINGS)


async def test_boot_images_are_stamped_once_a_control_plane_node_has_the_release(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        await cluster(world, "AWS", "4.22.3")
        await world.config_map(
            names.NAMESPACE, "coreos-bootimages", {"stream": "{}", "MCOVersionHash": "old"}
        )
        async with world.operator():
            await world.until(lambda _: True, (names.API_VERSION, "MachineConfigPool", "master"))
            await world.client.create(resources.MACHINE_CONFIGS, rendered("rendered-master-1", "0.0.9"))
            await world.client.create(resources.MACHINE_CONFIGS, rendered("rendered-master-2", "0.1.0"))
            await reach(world, "rendered-master-1")
            await world.until(lambda found: enforced(found), SETTINGS)
            assert (await world.object(*STAMPED))["data"] == {"stream": "{}", "MCOVersionHash": "old"}
            await reach(world, "rendered-master-2")
            await world.until(
                lambda found: (
                    found["data"]
                    == {
                        "stream": "{}",
                        "MCOVersionHash": version.commit(),
                        "MCOReleaseImageVersion": "0.1.0",
                    }
                ),
                STAMPED,
            )


def rendered(name: str, release: str) -> dict[str, Any]:
    annotations = {
        names.GENERATED_BY_CONTROLLER_VERSION: version.commit(),
        names.RELEASE_IMAGE_VERSION: release,
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"config": {"ignition": {"version": "3.5.0"}}},
    }


async def reach(world: World, config: str) -> None:
    """The control plane has this config."""
    configuration = {"configuration": {"name": config}}
    updated = {"conditions": [{"type": "Updated", "status": "True"}]}
    pools = resources.MACHINE_CONFIG_POOLS
    await world.client.patch(pools, "master", {"spec": configuration})
    await world.client.patch(pools, "master", {"status": configuration | updated}, subresource="status")


async def test_a_plain_cluster_hears_nothing_of_it(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world, world.operator():
        settings = await world.until(lambda found: said(found, "Degraded"), SETTINGS)
        assert "managedBootImagesStatus" not in settings["status"]
        assert not enforced(settings)
        assert SINCE not in settings["metadata"].get("annotations", {})
