"""Merges the specs of MachineConfigs, lowest precedence first, into one (spec/render.md 1.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.base.errors import MCOError, RenderError
from mco.ignition import types as t
from mco.ignition.merge import merge_all
from mco.ignition.origins import Origins
from mco.render.checks import of_config
from mco.render.sources import Sources, raw_config

_DEFAULT_KERNEL = names.KERNEL_TYPES[0]
KERNEL_DEVEL = "kernel-devel"


class BaseImages(msgspec.Struct, frozen=True):
    """The images that hold where no MachineConfig names another: of the ControllerConfig or of a stream."""

    os: str = ""
    extensions: str = ""


class MergedSpec(msgspec.Struct, frozen=True):
    """The fields of the rendered spec. `ignition_inputs`: indexes of the inputs that `origins` counts."""

    config: t.Config
    origins: Origins
    ignition_inputs: tuple[int, ...]
    os_image: str
    extensions_image: str
    kernel_type: str
    kernel_arguments: tuple[str, ...]
    extensions: tuple[str, ...]
    fips: bool


def merge(ordered: Sequence[MachineConfig], images: BaseImages, sources: Sources) -> MergedSpec:
    """`ordered` as `in_merge_order` gives it, at least one. Raises RenderError."""
    ignition_inputs, configs = _ignition(ordered, sources)
    merged = merge_all(configs, plain_children=True)
    specs = [item.spec for item in ordered]
    users = [item.spec for item in ordered if not is_generated(item)]
    kernel_type = _last([spec.kernel_type for spec in specs if is_special(spec.kernel_type)], _DEFAULT_KERNEL)
    extensions = tuple(name for spec in specs for name in spec.extensions or ())
    if kernel_type != _DEFAULT_KERNEL and KERNEL_DEVEL in extensions:
        raise RenderError(
            f"installing {KERNEL_DEVEL} extension is not supported with kernelType: {kernel_type}",
            path="$.spec.extensions",
            hint=f"remove {KERNEL_DEVEL}, or use kernelType {_DEFAULT_KERNEL}",
        )
    return MergedSpec(
        config=_overwriting(merged.config),
        origins=merged.origins,
        ignition_inputs=ignition_inputs,
        os_image=_last([spec.os_image_url for spec in users if spec.os_image_url], images.os),
        extensions_image=_last(
            [
                spec.base_os_extensions_container_image
                for spec in users
                if spec.base_os_extensions_container_image
            ],
            images.extensions,
        ),
        kernel_type=kernel_type,
        kernel_arguments=tuple(argument for spec in specs for argument in spec.kernel_arguments or ()),
        extensions=extensions,
        fips=any(spec.fips for spec in specs),
    )


def is_generated(config: MachineConfig) -> bool:
    """Whether a controller made it: its images follow the ControllerConfig and override nothing."""
    return bool(config.metadata.annotation(names.GENERATED_BY_CONTROLLER_VERSION))


def is_special(kernel_type: str) -> bool:
    return kernel_type in names.KERNEL_TYPES[1:]


def spec_fields(merged: MergedSpec, config: Any) -> dict[str, Any]:
    """The rendered spec with all its seven keys around `config`, in the original's order."""
    return {
        "baseOSExtensionsContainerImage": merged.extensions_image,
        "config": config,
        "extensions": list(merged.extensions),
        "fips": merged.fips,
        "kernelArguments": list(merged.kernel_arguments),
        "kernelType": merged.kernel_type,
        "osImageURL": merged.os_image,
    }


def _ignition(
    ordered: Sequence[MachineConfig], sources: Sources
) -> tuple[tuple[int, ...], tuple[t.Config, ...]]:
    """Which inputs take part, and their configs.

    The first input always takes part, with the empty config if it has none: with two or more, explicit
    `compression: ""` disappears."""
    inputs: list[int] = []
    configs: list[t.Config] = []
    for index, item in enumerate(ordered):
        raw = raw_config(item.spec)
        if raw is None and index > 0:
            continue
        inputs.append(index)
        configs.append(t.EMPTY if raw is None else _parsed(item, raw, sources))
    return tuple(inputs), tuple(configs)


def _parsed(item: MachineConfig, raw: msgspec.Raw, sources: Sources) -> t.Config:
    try:
        return sources.parse(raw).config
    except MCOError as error:
        raise of_config(item, error) from error


def _overwriting(config: t.Config) -> t.Config:
    """Files replace what is on the disk unless they say otherwise, which Ignition would not do by itself."""
    replace = msgspec.structs.replace
    files = tuple(
        replace(file, overwrite=True) if file.overwrite is None else file for file in config.storage.files
    )
    return replace(config, storage=replace(config.storage, files=files)) if files else config


def _last(values: Sequence[str], default: str) -> str:
    return values[-1] if values else default
