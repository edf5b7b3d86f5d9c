"""Objects for tests, as short as the tables of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api import names
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool


def node(
    name: str,
    current: str | None = None,
    desired: str | None = None,
    *,
    ready: bool | None = True,
    state: str | None = "Done",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Node:
    """A Node; `ready=None` has no conditions at all, `desired` defaults to `current`."""
    pairs = {
        names.CURRENT_CONFIG: current,
        names.DESIRED_CONFIG: current if desired is None else desired,
        names.STATE: state if current is not None else None,
    }
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "labels": dict(labels if labels is not None else {"node-role.kubernetes.io/worker": ""}),
        "annotations": {k: v for k, v in pairs.items() if v is not None} | dict(annotations or {}),
    }
    created = spec.pop("created", None)
    if created:
        metadata["creationTimestamp"] = created
    conditions = [] if ready is None else [{"type": "Ready", "status": "True" if ready else "False"}]
    conditions += spec.pop("conditions", [])
    body = {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}
    return msgspec.convert(body, Node)


def pool(name: str = "worker", config: str = "V1", **spec: Any) -> MachineConfigPool:
    """A pool that selects its own role's nodes and MachineConfigs and targets `config`."""
    body = {
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": 3, "resourceVersion": "1"},
        "spec": {
            "configuration": {"name": config},
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
            "machineConfigSelector": {"matchLabels": {names.ROLE_LABEL: name}},
        }
        | spec,
        "status": spec.pop("status", {}),
    }
    return msgspec.convert(body, MachineConfigPool)
