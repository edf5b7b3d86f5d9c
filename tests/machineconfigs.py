"""MachineConfigs for tests of rendering, as short as the tables of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.api.controllerconfig import ControllerConfig
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool

API = {"apiVersion": names.API_VERSION}


def manifest(
    name: str, config: Mapping[str, Any] | None = None, *, role: str | None = "worker", **spec: Any
) -> dict[str, Any]:
    """A MachineConfig as builtins. `config` is an Ignition document whose version is 3.5.0 unless it names
    another as `version`; `role=None` gives no labels."""
    if config is not None:
        rest = {key: value for key, value in config.items() if key != "version"}
        spec["config"] = {"ignition": {"version": config.get("version", "3.5.0")}} | rest
    metadata: dict[str, Any] = {"name": name}
    if role is not None:
        metadata["labels"] = {names.ROLE_LABEL: role}
    return {**API, "kind": "MachineConfig", "metadata": metadata, "spec": spec}


def mc(name: str, config: Mapping[str, Any] | None = None, **fields: Any) -> MachineConfig:
    """As `manifest`, as the typed object; `generated_by` sets the annotation of generated ones."""
    generated_by = fields.pop("generated_by", None)
    body = manifest(name, config, **fields)
    if generated_by is not None:
        body["metadata"]["annotations"] = {names.GENERATED_BY_CONTROLLER_VERSION: generated_by}
    return msgspec.json.decode(msgspec.json.encode(body), type=MachineConfig)


def file(
    path: str, source: str | None = None, *, compression: str | None = None, **more: Any
) -> dict[str, Any]:
    contents = {"source": source, "compression": compression}
    contents = {key: value for key, value in contents.items() if value is not None}
    return {"path": path, **({"contents": contents} if contents else {}), **more}


def files(*entries: dict[str, Any], **config: Any) -> dict[str, Any]:
    """An Ignition document with these files."""
    return {"storage": {"files": list(entries)}, **config}


def units(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"systemd": {"units": list(entries)}}


def core(**user: Any) -> dict[str, Any]:
    return {"passwd": {"users": [{"name": "core", **user}]}}


def pool(name: str = "worker", **spec: Any) -> MachineConfigPool:
    selector = {"matchLabels": {names.ROLE_LABEL: name}}
    body = {**API, "metadata": {"name": name, "uid": f"uid-{name}"}}
    return msgspec.convert(body | {"spec": {"machineConfigSelector": selector} | spec}, MachineConfigPool)


def controller(**spec: Any) -> ControllerConfig:
    annotations = spec.pop("annotations", {})
    body = {"metadata": {"name": names.CONTROLLER_CONFIG, "annotations": annotations}, "spec": spec}
    return msgspec.convert(body, ControllerConfig)
