"""The objects that stories apply, as short as a person would write them."""

from __future__ import annotations

from typing import Any

from mco.api import names

ROLE = names.ROLE_LABEL


def machine_config(name: str, role: str = "worker", **spec: Any) -> dict[str, Any]:
    document = {"ignition": {"version": "3.2.0"}} | spec.pop("ignition", {})
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {ROLE: role}},
        "spec": {"config": document} | spec,
    }


def file(name: str, path: str, text: str, role: str = "worker") -> dict[str, Any]:
    entry = {"path": path, "mode": 420, "contents": {"source": f"data:,{text}"}}
    return machine_config(name, role, ignition={"storage": {"files": [entry]}})


def kernel_argument(name: str, argument: str) -> dict[str, Any]:
    return machine_config(name, kernelArguments=[argument])


def pool(name: str) -> dict[str, Any]:
    """A custom pool: the workers' MachineConfigs and its own."""
    roles = {"key": ROLE, "operator": "In", "values": ["worker", name]}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [roles]},
            "nodeSelector": {"matchLabels": {f"{names.NODE_ROLE_PREFIX}{name}": ""}},
        },
    }
