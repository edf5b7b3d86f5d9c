"""MachineConfigs of images that were built before there was a cluster, on the embedded server
(spec/operator.md 1.10)."""

from __future__ import annotations

from pathlib import Path

from mco.api import names
from mco.api.crds import definitions
from mco.api.resources import MACHINE_CONFIGS, MACHINE_OS_CONFIGS
from mco.operator import lookup
from mco.operator.prebuilt import PreBuiltImages
from mco.operator.sources import LOOK_AGAIN
from tests.operator.world import Hands, embedded

IMAGE = f"registry.example/os@sha256:{'0' * 64}"


async def test_made_kept_and_removed(tmp_path: Path) -> None:
    async with embedded(tmp_path) as world:
        for definition in definitions():
            await world.define(definition)
        clock = Hands()
        images = PreBuiltImages(world.client, clock)

        async def kept() -> str | None:
            await clock.sleep(LOOK_AGAIN)
            await images.keep(["master", "worker"])
            name = "10-prebuiltimage-osimageurl-worker"
            found = await lookup.found(world.client, MACHINE_CONFIGS, name)
            if found is not None:
                assert found.metadata.annotation(names.PRE_BUILT_IMAGE) == IMAGE
            return found.spec.os_image_url if found else None

        assert await kept() is None
        config = {
            "metadata": {"name": "worker", "annotations": {names.PRE_BUILT_IMAGE: IMAGE}},
            "spec": {
                "machineConfigPool": {"name": "worker"},
                "imageBuilder": {"imageBuilderType": "Job"},
                "renderedImagePushSecret": {"name": "push"},
                "renderedImagePushSpec": "registry.example/os:latest",
            },
        }
        await world.client.create(MACHINE_OS_CONFIGS, config)
        assert await kept() == IMAGE
        annotations = {"metadata": {"annotations": {names.PRE_BUILT_IMAGE: None}}}
        await world.client.patch(MACHINE_OS_CONFIGS, "worker", annotations)
        assert await kept() == IMAGE
        await world.client.delete(MACHINE_OS_CONFIGS, "worker")
        assert await kept() is None


async def test_a_failure_fails_nothing(tmp_path: Path) -> None:
    """The kind is not even served here."""
    async with embedded(tmp_path) as world:
        await PreBuiltImages(world.client, Hands()).keep(["worker"])
