"""Whether a component says of itself that it is there: the gate on its ClusterOperator (spec/operator.md 6.4,
cases in 8.14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec


class Effect(IntEnum):
    """What a closed gate means, from mild to severe."""

    REPORT = 0
    NONE = 1
    FAIL_AFTER_INTERVAL = 2
    FAIL = 3


FAIL_AFTER_SECONDS = 40 * 60.0
SLOW_SECONDS = 30 * 60.0
SLOW_MACHINE_CONFIG_SECONDS = 90 * 60.0


class Closed(msgspec.Struct, frozen=True):
    name: str
    effect: Effect
    reason: str
    message: str


def closed(manifest: Mapping[str, Any], found: Mapping[str, Any], *, initializing: bool) -> Closed | None:
    """None when the gate is open. `manifest` lists the versions that are expected, `found` is the cluster's
    object."""
    name = str(manifest["metadata"]["name"])
    wanted = _versions(manifest)
    if not wanted:
        text = f"Cluster operator {name} is not reporting any versions"
        return Closed(name, Effect.FAIL, "ClusterOperatorNoVersions", text)
    if condition(found, "Available") != "True":
        text = f"Cluster operator {name} is not available"
        return Closed(name, Effect.FAIL, "ClusterOperatorNotAvailable", text)
    if condition(found, "Degraded") != "False":
        effect = Effect.REPORT if initializing else Effect.FAIL_AFTER_INTERVAL
        return Closed(name, effect, "ClusterOperatorDegraded", f"Cluster operator {name} is degraded")
    reported = _versions(found)
    if not initializing and any(reported.get(operand) != version for operand, version in wanted.items()):
        text = f"Cluster operator {name} is updating versions"
        return Closed(name, Effect.NONE, "ClusterOperatorUpdating", text)
    return None


def condensed(gates: Sequence[Closed]) -> list[Closed]:
    """Gates that are closed for one reason become one, with the reason and the sentence in the plural and the
    most severe effect."""
    by_reason: dict[str, list[Closed]] = {}
    for gate in gates:
        by_reason.setdefault(gate.reason, []).append(gate)
    return [_joined(by_reason[reason]) for reason in sorted(by_reason)]


def slow_after(name: str) -> float:
    """Seconds after which waiting for it is worth a warning."""
    return SLOW_MACHINE_CONFIG_SECONDS if name == "machine-config" else SLOW_SECONDS


def _joined(gates: Sequence[Closed]) -> Closed:
    if len(gates) == 1:
        return gates[0]
    first = gates[0]
    names = ", ".join(sorted(gate.name for gate in gates))
    message = first.message.replace(f"Cluster operator {first.name} is", f"Cluster operators {names} are")
    plural = first.reason.replace("ClusterOperator", "ClusterOperators", 1)
    return Closed(names, max(gate.effect for gate in gates), plural, message)


def _versions(operator: Mapping[str, Any]) -> dict[str, str]:
    versions = (operator.get("status") or {}).get("versions") or ()
    return {version["name"]: version.get("version", "") for version in versions}


def condition(found: Mapping[str, Any], type_: str) -> str:
    """The status of one of the object's conditions; empty when it has none of that type."""
    return next((each.get("status", "") for each in conditions(found) if each["type"] == type_), "")


def conditions(found: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
    return (found.get("status") or {}).get("conditions") or ()
