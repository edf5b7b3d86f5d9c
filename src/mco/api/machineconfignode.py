"""MachineConfigNode: where one node stands in an update (spec/node.md 1.7, 5)."""

from __future__ import annotations

import msgspec

from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, Object
from mco.api.names import GROUP

UNITS_FAILED = "UnitsFailed"
"""An additive condition: units of the config that did not start. It never degrades a node (design.md 10,
meaning)."""
CONFIG_UNKNOWN = "ConfigUnknown"
"""An additive condition: the cluster does not have the config that the node comes from, and in what its own
copy differs from the one that it goes to. It never degrades a node."""
UPDATE_WAITING = "UpdateWaiting"
"""An additive condition: the node has to move but may not yet, and why (design.md 6, explanations)."""

UPDATE_HOLD = f"{GROUP}/update-hold"
"""An additive annotation: why the node must not be told to move, whoever else may."""


class Reference(APIStruct, frozen=True, kw_only=True):
    name: str = ""


class SpecConfigVersion(APIStruct, frozen=True, kw_only=True):
    desired: str = ""


class StatusConfigVersion(APIStruct, frozen=True, kw_only=True):
    current: str = ""
    desired: str = ""


class MachineConfigNodeSpec(APIStruct, frozen=True, kw_only=True):
    node: Reference = msgspec.field(default_factory=Reference)
    pool: Reference = msgspec.field(default_factory=Reference)
    config_version: SpecConfigVersion = msgspec.field(default_factory=SpecConfigVersion)


class MachineConfigNodeStatus(APIStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    config_version: StatusConfigVersion = msgspec.field(default_factory=StatusConfigVersion)
    conditions: tuple[Condition, ...] = ()


class MachineConfigNode(Object, frozen=True, kw_only=True):
    spec: MachineConfigNodeSpec = msgspec.field(default_factory=MachineConfigNodeSpec)
    status: MachineConfigNodeStatus = msgspec.field(default_factory=MachineConfigNodeStatus)
