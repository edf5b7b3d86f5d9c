"""What `kubectl get` shows of our kinds: their printer columns (spec/node.md 1)."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`; `priority` 1 is shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""


def _condition(column: str, condition: str = "", **more: Any) -> Column:
    return Column(column, f'.status.conditions[?(@.type=="{condition or column}")].status', **more)


def _count(column: str, description: str) -> Column:
    field = column[0].lower() + column[1:]
    return Column(column, f".status.{field}", "number", description=description)


def _annotation(key: str) -> str:
    escaped = key.replace(".", r"\.")
    return f".metadata.annotations.{escaped}"


_AGE = Column("Age", ".metadata.creationTimestamp", "date")

MACHINE_CONFIG = (
    Column(
        "GeneratedByController",
        _annotation(names.GENERATED_BY_CONTROLLER_VERSION),
        description="Version of the controller that made it; empty when a user did.",
    ),
    Column(
        "IgnitionVersion",
        ".spec.config.ignition.version",
        description="Version of its Ignition config.",
    ),
    _AGE,
)
MACHINE_CONFIG_POOL = (
    Column("Config", ".status.configuration.name"),
    _condition("Updated", description="Whether all machines have the configuration."),
    _condition("Updating", description="Whether machines are on the way to the configuration."),
    _condition("Degraded", description="Whether the update of a machine or the rendering is stuck."),
    _count("MachineCount", "Number of machines in the pool."),
    _count("ReadyMachineCount", "Number of machines that have the configuration and are ready."),
    _count("UpdatedMachineCount", "Number of machines that have the configuration."),
    _count("DegradedMachineCount", "Number of machines that could not apply a configuration."),
    _AGE,
)
MACHINE_CONFIG_NODE = (
    Column("PoolName", ".spec.pool.name"),
    Column("DesiredConfig", ".spec.configVersion.desired"),
    Column("CurrentConfig", ".status.configVersion.current"),
    _condition("Updated"),
    _AGE,
    *(
        _condition(name, priority=1)
        for name in (
            "UpdatePrepared",
            "UpdateExecuted",
            "UpdatePostActionComplete",
            "UpdateComplete",
            "Resumed",
        )
    ),
    _condition("UpdatedFilesAndOS", "AppliedFilesAndOS", priority=1),
    _condition("CordonedNode", "Cordoned", priority=1),
    _condition("DrainedNode", "Drained", priority=1),
    _condition("RebootedNode", priority=1),
    _condition("UncordonedNode", "Uncordoned", priority=1),
)
MACHINE_OS_BUILD = (
    *(_condition(name) for name in ("Prepared", "Building", "Succeeded", "Interrupted", "Failed")),
    _AGE,
)
