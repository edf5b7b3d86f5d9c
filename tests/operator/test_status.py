"""What the operator says of an installation, on the embedded server (spec/operator.md 1.3, 1.14)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.fleet.seed import base_config
from tests.operator.world import OPERATOR, SETTINGS, World, embedded, extension, message, reason, said


def settled(found: dict[str, Any], version: str = "0.1.0") -> bool:
    available = f"Cluster has deployed [{{operator {version}}}]"
    progressing = f"Cluster version is {version}"
    return (message(found, "Progressing"), message(found, "Available")) == (progressing, available)


async def seeded(world: World) -> None:
    await world.until(lambda _: True, (names.API_VERSION, "MachineConfigPool", "worker"))
    for role in ("master", "worker"):
        await world.client.create(resources.MACHINE_CONFIGS, base_config(role))


async def test_an_installation_comes_up(tmp_path: Path) -> None:
    """Bootstrapping until the required pool is rendered by this version; then so on both objects."""
    async with embedded(tmp_path) as world, world.operator(), world.controllers():
        begun = await world.until(lambda found: "lastSyncError" in extension(found))
        assert message(begun, "Progressing") == "Cluster is bootstrapping 0.1.0"
        await seeded(world)
        done = await world.until(settled)
        assert said(done, "Degraded") == "False"
        assert said(done, "Upgradeable") == "True"
        assert done["status"]["versions"] == [{"name": "operator", "version": "0.1.0"}]
        assert set(extension(done)) == {"master", "worker"}
        assert {"group": "", "resource": "nodes", "name": ""} in done["status"]["relatedObjects"]
        await world.until(settled, SETTINGS)


async def test_a_pass_that_fails_does_not_end_the_bring_up(tmp_path: Path) -> None:
    """A good one does."""
    own = "cluster-config"
    async with embedded(tmp_path) as world:
        await world.config_map(names.NAMESPACE, own, {"dns.yaml": "- 1"})
        async with world.operator(), world.controllers():
            failing = await world.until(lambda found: said(found, "Degraded") == "True")
            assert message(failing, "Progressing") == "Unable to apply 0.1.0"
            await world.client.patch(
                resources.CONFIG_MAPS, own, {"data": {"dns.yaml": None}}, namespace=names.NAMESPACE
            )
            await world.until(lambda found: message(found, "Progressing").endswith("bootstrapping 0.1.0"))
            await seeded(world)
            await world.until(settled)


async def test_a_degraded_pool_forbids_an_upgrade(tmp_path: Path) -> None:
    """And what others say in the same list of conditions stays."""
    async with embedded(tmp_path) as world, world.operator():
        await world.until(lambda found: said(found, "Degraded"), SETTINGS)
        foreign = {
            "type": "BootImageUpdateProgressing",
            "status": "False",
            "reason": "Fine",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
        settings = await world.object(*SETTINGS)
        body = {"status": {"conditions": [*settings["status"]["conditions"], foreign]}}
        name = names.MACHINE_CONFIGURATION
        await world.client.patch(resources.MACHINE_CONFIGURATIONS, name, body, subresource="status")
        broken = {
            "status": {"conditions": [{"type": "Degraded", "status": "True", "message": "a disk is full"}]}
        }
        await world.client.patch(resources.MACHINE_CONFIG_POOLS, "worker", broken, subresource="status")
        found = await world.until(lambda found: said(found, "Upgradeable") == "False")
        assert reason(found, "Upgradeable") == "DegradedPool"
        assert "a disk is full" in extension(found)["lastSyncError"]
        assert said(found, "Degraded") == "False"
        settings = await world.until(lambda found: said(found, "Upgradeable") == "False", SETTINGS)
        assert foreign in settings["status"]["conditions"]


async def test_a_failing_function_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    """A document that cannot be used, then one that can."""
    async with embedded(tmp_path) as world:
        await world.config_map(
            names.NAMESPACE, "cluster-config", {"network.yaml": "spec: {serviceNetwork: []}"}
        )
        async with world.operator():
            found = await world.until(lambda found: said(found, "Degraded") == "True")
            assert reason(found, "Degraded") == "RenderConfigFailed"
            assert (
                message(found, "Degraded")
                == "Failed to resync 0.1.0 because: service cidr is empty in Network"
            )
            assert await world.object(*SETTINGS)
            assert not await world.object(names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
            await world.event("OperatorDegraded: RenderConfigFailed")
        data = {"data": {"network.yaml": "spec: {serviceNetwork: [172.30.0.0/16]}"}}
        await world.client.patch(resources.CONFIG_MAPS, "cluster-config", data, namespace=names.NAMESPACE)
        async with world.operator():
            await world.until(lambda found: said(found, "Degraded") == "False")
            which = (names.API_VERSION, "ControllerConfig", names.CONTROLLER_CONFIG)
            config = await world.until(lambda found: found.get("status"), which)
            assert config["spec"]["clusterDNSIP"] == "172.30.0.10"


async def test_a_new_version(tmp_path: Path) -> None:
    """It works towards itself until the required pool is its own, then reports its version; a fleet without a
    control plane is not held."""
    async with embedded(tmp_path) as world:
        async with world.operator(), world.controllers():
            await seeded(world)
            await world.until(settled)
        async with world.operator("0.2.0"):
            await world.until(lambda found: message(found, "Progressing") == "Working towards 0.2.0")
            found = await world.until(lambda found: "lastSyncError" in extension(found))
            assert "release image version mismatch for master" in extension(found)["lastSyncError"]
            assert found["status"]["versions"] == [{"name": "operator", "version": "0.1.0"}]
            async with world.controllers():
                await world.until(lambda found: settled(found, "0.2.0"))
        events = await world.client.list(resources.EVENTS, namespace=names.NAMESPACE)
        texts = [event.message for event in events.items if event.reason == "OperatorVersionChanged"]
        assert any("bootstrapping to [{operator 0.1.0}]" in text for text in texts)
        assert any("started a version change" in text for text in texts)
        assert any("version changed from [{operator 0.1.0}] to [{operator 0.2.0}]" in text for text in texts)


async def test_a_version_changes_under_a_control_plane(tmp_path: Path) -> None:
    """All but the control plane are held, visibly, and nobody's pool is paused."""
    async with embedded(tmp_path) as world:
        async with world.operator(), world.controllers():
            await seeded(world)
            await world.until(settled)
        master = {"status": {"machineCount": 1}}
        await world.client.patch(resources.MACHINE_CONFIG_POOLS, "master", master, subresource="status")
        async with world.operator("0.2.0"):
            held = await world.until(lambda found: said(found, "UpdatesHeld") == "True", SETTINGS)
            assert reason(held, "UpdatesHeld") == "OperatorVersionChanging"
            assert "from 0.1.0 to 0.2.0" in message(held, "UpdatesHeld")
            pools = await world.client.list(resources.MACHINE_CONFIG_POOLS)
            assert not any(pool.spec.paused for pool in pools.items)
            assert said(await world.object(*OPERATOR), "Degraded") == "False"
            async with world.controllers():
                await world.until(lambda found: said(found, "UpdatesHeld") == "False", SETTINGS)
