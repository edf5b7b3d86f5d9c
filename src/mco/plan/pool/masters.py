"""Masters take ordinary pods, or do not, as the cluster's Scheduler object says (spec/node.md 3.3)."""

from __future__ import annotations

from typing import Any

from mco.api import names
from mco.api.core import Node, Taint

MASTER_ROLE = f"{names.NODE_ROLE_PREFIX}master"
CONTROL_PLANE_ROLE = f"{names.NODE_ROLE_PREFIX}control-plane"
WORKER_ROLE = f"{names.NODE_ROLE_PREFIX}worker"
_NO_SCHEDULE = {"effect": "NoSchedule"}


def is_master(node: Node) -> bool:
    return node.metadata.label(MASTER_ROLE) is not None


def patch(node: Node, schedulable: bool) -> dict[str, Any] | None:
    """The merge patch for a master, tied to the node that was looked at; None when nothing is to be done."""
    labels: dict[str, str | None] = {}
    if node.metadata.label(CONTROL_PLANE_ROLE) is None:
        labels[CONTROL_PLANE_ROLE] = ""
    if schedulable != (node.metadata.label(WORKER_ROLE) is not None):
        labels[WORKER_ROLE] = "" if schedulable else None
    have = node.spec.taints or ()
    taints = _taints(have, schedulable)
    if not labels and taints == have:
        return None
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": node.metadata.resource_version, "labels": labels},
    }
    if taints != have:
        body["spec"] = {"taints": list(taints) or None}
    return body


def _taints(have: tuple[Taint, ...], schedulable: bool) -> tuple[Taint, ...]:
    if schedulable:
        roles = (MASTER_ROLE, CONTROL_PLANE_ROLE)
        return tuple(t for t in have if not any(_reserves(t, role) for role in roles))
    if any(_reserves(t, MASTER_ROLE) for t in have):
        return have
    return (*have, {"key": MASTER_ROLE, **_NO_SCHEDULE})


def _reserves(taint: Taint, role: str) -> bool:
    return taint.items() >= {"key": role, **_NO_SCHEDULE}.items()
