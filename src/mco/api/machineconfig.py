"""MachineConfig: what a node shall look like (spec/node.md 1.2)."""

from __future__ import annotations

import msgspec

from mco.api.meta.objects import APIStruct, Object


class MachineConfigSpec(APIStruct, frozen=True, kw_only=True):
    """`config` is the Ignition document as it was written, in any supported version; empty when absent."""

    base_os_extensions_container_image: str = msgspec.field(default="", name="baseOSExtensionsContainerImage")
    config: msgspec.Raw = msgspec.Raw()
    extensions: tuple[str, ...] | None = None
    fips: bool = False
    kernel_arguments: tuple[str, ...] | None = None
    kernel_type: str = ""
    os_image_url: str = msgspec.field(default="", name="osImageURL")


class MachineConfig(Object, frozen=True, kw_only=True):
    spec: MachineConfigSpec = msgspec.field(default_factory=MachineConfigSpec)
