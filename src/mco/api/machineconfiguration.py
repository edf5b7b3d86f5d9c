"""MachineConfiguration `cluster`: which change of a node disrupts it how (spec/node.md 1.13, 6)."""

from __future__ import annotations

import msgspec

from mco.api.meta.conditions import Condition
from mco.api.meta.objects import APIStruct, LabelSelector, Object


class ServiceReference(APIStruct, frozen=True, kw_only=True):
    service_name: str = ""


class Action(APIStruct, frozen=True, kw_only=True):
    """`type` is None, Reboot, Drain, Reload, Restart, DaemonReload or (internal only) Special."""

    type: str
    reload: ServiceReference | None = None
    restart: ServiceReference | None = None


class FilePolicy(APIStruct, frozen=True, kw_only=True):
    path: str
    actions: tuple[Action, ...] = ()


class UnitPolicy(APIStruct, frozen=True, kw_only=True):
    name: str
    actions: tuple[Action, ...] = ()


class SSHKeyPolicy(APIStruct, frozen=True, kw_only=True):
    actions: tuple[Action, ...] = ()


class DisruptionPolicies(APIStruct, frozen=True, kw_only=True):
    files: tuple[FilePolicy, ...] = ()
    units: tuple[UnitPolicy, ...] = ()
    sshkey: SSHKeyPolicy = msgspec.field(default_factory=SSHKeyPolicy)


class DisruptionPolicyStatus(APIStruct, frozen=True, kw_only=True):
    cluster_policies: DisruptionPolicies = msgspec.field(default_factory=DisruptionPolicies)


class IrreconcilableValidationOverrides(APIStruct, frozen=True, kw_only=True):
    """`storage`: Disks, FileSystems, Raid; their changes do not make a config irreconcilable."""

    storage: tuple[str, ...] = ()


class PartialSelection(APIStruct, frozen=True, kw_only=True):
    machine_resource_selector: LabelSelector


class MachineSelection(APIStruct, frozen=True, kw_only=True):
    """`mode` is All, Partial or None."""

    mode: str
    partial: PartialSelection | None = None


class MachineManager(APIStruct, frozen=True, kw_only=True):
    """`resource` is machinesets or controlplanemachinesets; the boot images of those selected are kept up to
    date."""

    resource: str
    api_group: str
    selection: MachineSelection


class ManagedBootImages(APIStruct, frozen=True, kw_only=True):
    """None says nothing; an empty list says that none are managed."""

    machine_managers: tuple[MachineManager, ...] | None = None


class BootImageVersions(APIStruct, frozen=True, kw_only=True):
    ocp_version: str = ""
    rhcos_version: str = ""


class ManualBootImage(BootImageVersions, frozen=True, kw_only=True):
    """`mode` names the field that counts: OCPVersion or RHCOSVersion."""

    mode: str = ""


class BootImageSkew(APIStruct, frozen=True, kw_only=True):
    """`mode` is Automatic (in a status only), Manual or None."""

    mode: str = ""
    automatic: BootImageVersions | None = None
    manual: ManualBootImage | None = None


class MachineConfigurationSpec(APIStruct, frozen=True, kw_only=True):
    management_state: str = ""
    operator_log_level: str = ""
    managed_boot_images: ManagedBootImages = msgspec.field(default_factory=ManagedBootImages)
    boot_image_skew_enforcement: BootImageSkew | None = None
    node_disruption_policy: DisruptionPolicies = msgspec.field(default_factory=DisruptionPolicies)
    irreconcilable_validation_overrides: IrreconcilableValidationOverrides = msgspec.field(
        default_factory=IrreconcilableValidationOverrides
    )


class MachineConfigurationStatus(APIStruct, frozen=True, kw_only=True):
    managed_boot_images_status: ManagedBootImages = msgspec.field(default_factory=ManagedBootImages)
    boot_image_skew_enforcement_status: BootImageSkew | None = None
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0
    node_disruption_policy_status: DisruptionPolicyStatus = msgspec.field(
        default_factory=DisruptionPolicyStatus
    )


class MachineConfiguration(Object, frozen=True, kw_only=True):
    spec: MachineConfigurationSpec = msgspec.field(default_factory=MachineConfigurationSpec)
    status: MachineConfigurationStatus = msgspec.field(default_factory=MachineConfigurationStatus)
