"""Scheduler of `config.openshift.io`: whether the control plane takes ordinary pods (spec/node.md 3.3)."""

from __future__ import annotations

import msgspec

from mco.api.meta.objects import APIStruct, Object


class SchedulerSpec(APIStruct, frozen=True, kw_only=True):
    masters_schedulable: bool = False


class Scheduler(Object, frozen=True, kw_only=True):
    spec: SchedulerSpec = msgspec.field(default_factory=SchedulerSpec)
