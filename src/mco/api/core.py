"""Narrow views of Kubernetes' own kinds: only the fields that this project reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, LabelSelector, Object, ObjectReference

Taint = Mapping[str, Any]
"""Whole, with `key`, `effect` and what else there is: the list of a node's taints is written whole."""


class NodeSpec(APIStruct, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeSystemInfo(APIStruct, frozen=True, kw_only=True):
    machine_id: str = msgspec.field(default="", name="machineID")
    boot_id: str = msgspec.field(default="", name="bootID")
    os_image: str = ""
    kubelet_version: str = ""


class NodeStatus(APIStruct, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = msgspec.field(default_factory=NodeSystemInfo)


class Node(Object, frozen=True, kw_only=True):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class Container(APIStruct, frozen=True, kw_only=True):
    image: str = ""


class PodSpec(APIStruct, frozen=True, kw_only=True):
    containers: tuple[Container, ...] | None = None
    node_name: str = ""


class ContainerStateTerminated(APIStruct, frozen=True, kw_only=True):
    exit_code: int = 0
    message: str = ""


class ContainerState(APIStruct, frozen=True, kw_only=True):
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(APIStruct, frozen=True, kw_only=True):
    name: str = ""
    state: ContainerState = msgspec.field(default_factory=ContainerState)
    last_state: ContainerState = msgspec.field(default_factory=ContainerState)


class PodStatus(APIStruct, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(Object, frozen=True, kw_only=True):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class ConfigMap(Object, frozen=True, kw_only=True):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class Secret(Object, frozen=True, kw_only=True):
    """Values of `data` are base64 text."""

    type: str = ""
    data: dict[str, str] | None = None


class Namespace(Object, frozen=True, kw_only=True):
    pass


class SecretName(APIStruct, frozen=True, kw_only=True):
    name: str = ""


class ServiceAccount(Object, frozen=True, kw_only=True):
    image_pull_secrets: tuple[SecretName, ...] | None = None


class LeaseSpec(APIStruct, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object, frozen=True, kw_only=True):
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class EventSource(APIStruct, frozen=True, kw_only=True):
    component: str = ""
    host: str = ""


class Event(Object, frozen=True, kw_only=True):
    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    reason: str = ""
    message: str = ""
    type: str = ""
    source: EventSource = msgspec.field(default_factory=EventSource)
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None


class CertificateSigningRequestSpec(APIStruct, frozen=True, kw_only=True):
    """`request` is base64 of the PEM; user and groups are set by the server from who asked."""

    request: str = ""
    signer_name: str = ""
    username: str = ""
    groups: tuple[str, ...] = ()
    usages: tuple[str, ...] = ()
    expiration_seconds: int | None = None


class CertificateSigningRequestStatus(APIStruct, frozen=True, kw_only=True):
    """`certificate` is base64 of the PEM chain."""

    conditions: tuple[Condition, ...] = ()
    certificate: str | None = None


class CertificateSigningRequest(Object, frozen=True, kw_only=True):
    spec: CertificateSigningRequestSpec = msgspec.field(default_factory=CertificateSigningRequestSpec)
    status: CertificateSigningRequestStatus = msgspec.field(default_factory=CertificateSigningRequestStatus)


class CustomResourceDefinition(Object, frozen=True, kw_only=True):
    spec: dict[str, Any] = msgspec.field(default_factory=dict)


class DaemonSet(Object, frozen=True, kw_only=True):
    pass


class PodDisruptionBudgetStatus(APIStruct, frozen=True, kw_only=True):
    disruptions_allowed: int = 0


class PodDisruptionBudgetSpec(APIStruct, frozen=True, kw_only=True):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudget(Object, frozen=True, kw_only=True):
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)
