"""MachineConfigs for tests of the daemon, as JSON documents."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig


def file(path: str, text: str, mode: int | None = None, **more: Any) -> dict[str, Any]:
    source = "data:;base64," + base64.b64encode(text.encode()).decode()
    entry: dict[str, Any] = {"path": path, "contents": {"source": source}, "overwrite": True, **more}
    return entry if mode is None else entry | {"mode": mode}


def unit(
    name: str,
    contents: str | None = None,
    *,
    enabled: bool | None = None,
    mask: bool | None = None,
    dropins: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    fields = {
        "name": name,
        "contents": contents,
        "enabled": enabled,
        "mask": mask,
        "dropins": [{"name": key, "contents": text} for key, text in (dropins or {}).items()] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def config(
    name: str,
    *,
    files: Sequence[Mapping[str, Any]] = (),
    units: Sequence[Mapping[str, Any]] = (),
    arguments: Sequence[str] = (),
    keys: Sequence[str] = (),
    ignition: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A rendered MachineConfig called `rendered-worker-<name>`."""
    document: dict[str, Any] = {"ignition": {"version": "3.5.0"}}
    if files:
        document["storage"] = {"files": list(files)}
    if units:
        document["systemd"] = {"units": list(units)}
    if keys:
        document["passwd"] = {"users": [{"name": "core", "sshAuthorizedKeys": list(keys)}]}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": f"rendered-worker-{name}"},
        "spec": {"config": document | dict(ignition or {}), "kernelArguments": list(arguments)} | spec,
    }


def typed(body: Mapping[str, Any]) -> MachineConfig:
    return msgspec.json.decode(msgspec.json.encode(body), type=MachineConfig)


SERVICE = """[Unit]
Description=Test service {0}
[Service]
ExecStart=/usr/bin/sleep infinity
[Install]
WantedBy=multi-user.target
"""


def service(number: int) -> str:
    return SERVICE.format(number)
