"""MachineOSBuild: the build of an image for a rendered config (spec/node.md 1.9)."""

from __future__ import annotations

import msgspec

from mco.api.machineconfignode import Reference
from mco.api.meta.objects import APIStruct, Object


class MachineOSBuildSpec(APIStruct, frozen=True, kw_only=True):
    machine_config: Reference = msgspec.field(default_factory=Reference)


class MachineOSBuild(Object, frozen=True, kw_only=True):
    spec: MachineOSBuildSpec = msgspec.field(default_factory=MachineOSBuildSpec)
