"""MachineOSConfig: a pool whose operating system is an image of its own (spec/node.md 1.8)."""

from __future__ import annotations

import msgspec

from mco.api.machineconfignode import Reference
from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, Object

SEEDED = "Seeded"
"""The condition: its first image was built before there was a cluster."""


class MachineOSConfigSpec(APIStruct, frozen=True, kw_only=True):
    machine_config_pool: Reference = msgspec.field(default_factory=Reference)


class MachineOSConfigStatus(APIStruct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class MachineOSConfig(Object, frozen=True, kw_only=True):
    spec: MachineOSConfigSpec = msgspec.field(default_factory=MachineOSConfigSpec)
    status: MachineOSConfigStatus = msgspec.field(default_factory=MachineOSConfigStatus)
