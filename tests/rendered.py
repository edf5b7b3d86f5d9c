"""Rendered configs for tests, with all that makes one."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfignode import MachineConfigNode

NOW = "2026-06-01T12:00:00Z"
OLD = "2026-05-01T00:00:00Z"


def name_of(number: int, pool: str = "worker") -> str:
    return f"{names.RENDERED_PREFIX}{pool}-{number:032x}"


def metadata(name: str, pool: str = "worker", *, uid: str = "", **annotations: str) -> dict[str, Any]:
    """`uid` is the pool's."""
    owner = {"apiVersion": names.API_VERSION, "kind": "MachineConfigPool", "name": pool}
    owner["uid"] = uid or f"uid-{pool}"
    return {
        "name": name,
        "annotations": {names.GENERATED_BY_CONTROLLER_VERSION: "v", **annotations},
        "ownerReferences": [owner | {"controller": True}],
    }


def rendered(
    number: int, created: str | None = OLD, *, pool: str = "worker", pinned: bool = False, **more: Any
) -> MachineConfig:
    pin = {names.KEEP: ""} if pinned else {}
    meta = metadata(name_of(number, pool), pool, **pin)
    meta |= {"uid": f"uid-{number}", "creationTimestamp": created} | more
    return msgspec.convert({"metadata": meta}, MachineConfig)


def report(node: str, *, desired: str = "", current: str = "", said: str = "") -> MachineConfigNode:
    """`said`: where the node itself says that it is going."""
    body = {
        "metadata": {"name": node},
        "spec": {"configVersion": {"desired": desired}},
        "status": {"configVersion": {"current": current, "desired": said}},
    }
    return msgspec.convert(body, MachineConfigNode)
