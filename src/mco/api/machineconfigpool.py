"""MachineConfigPool: which MachineConfigs and which nodes belong together (spec/node.md 1.3)."""

from __future__ import annotations

import msgspec

from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, LabelSelector, Object, ObjectReference

UPDATED = "Updated"
UPDATING = "Updating"
NODE_DEGRADED = "NodeDegraded"
RENDER_DEGRADED = "RenderDegraded"
IMAGE_BUILD_DEGRADED = "ImageBuildDegraded"
DEGRADED = "Degraded"


class PoolConfiguration(ObjectReference, frozen=True, kw_only=True):
    """The rendered MachineConfig (`name`) and the MachineConfigs it was made of, in merge order."""

    source: tuple[ObjectReference, ...] | None = None


class OSImageStreamReference(APIStruct, frozen=True, kw_only=True):
    name: str = ""


class PoolSpec(APIStruct, frozen=True, kw_only=True):
    configuration: PoolConfiguration = msgspec.field(default_factory=PoolConfiguration)
    machine_config_selector: LabelSelector | None = None
    max_unavailable: int | str | None = None
    node_selector: LabelSelector | None = None
    os_image_stream: OSImageStreamReference = msgspec.field(
        default_factory=OSImageStreamReference, name="osImageStream"
    )
    paused: bool = False


class CertExpiry(APIStruct, frozen=True, kw_only=True):
    bundle: str
    subject: str
    expiry: str = ""


class PoolSynchronizerStatus(APIStruct, frozen=True, kw_only=True, omit_defaults=False):
    pool_synchronizer_type: str
    machine_count: int = 0
    updated_machine_count: int = 0
    ready_machine_count: int = 0
    available_machine_count: int = 0
    unavailable_machine_count: int = 0


class PoolStatus(APIStruct, frozen=True, kw_only=True):
    observed_generation: int = 0
    configuration: PoolConfiguration = msgspec.field(default_factory=PoolConfiguration)
    machine_count: int = 0
    updated_machine_count: int = 0
    ready_machine_count: int = 0
    unavailable_machine_count: int = 0
    degraded_machine_count: int = 0
    conditions: tuple[Condition, ...] = ()
    cert_expirys: tuple[CertExpiry, ...] = ()
    pool_synchronizers_status: tuple[PoolSynchronizerStatus, ...] = ()


class MachineConfigPool(Object, frozen=True, kw_only=True):
    spec: PoolSpec = msgspec.field(default_factory=PoolSpec)
    status: PoolStatus = msgspec.field(default_factory=PoolStatus)
