"""Feature gates, and which of them are on in which feature set (spec/render.md 0.1,
spec/controllerconfig.md 3)."""

from __future__ import annotations

from collections.abc import Mapping

ADDITIONAL_STORAGE = "AdditionalStorageConfig"
BGP_VIP = "BGPBasedVIPManagement"
BOOT_IMAGE_SKEW = "BootImageSkewEnforcement"
CPMS_BOOT_IMAGES = "ManagedBootImagesCPMS"
GOMAXPROCS = "GomaxprocsInjection"
IMAGE_MODE_STATUS = "ImageModeStatusReporting"
IRRECONCILABLE = "IrreconcilableMachineConfig"
MUTABLE_TOPOLOGY = "MutableTopology"
NO_REGISTRY = "NoRegistryClusterInstall"
OS_STREAMS = "OSStreams"
TLS_GROUPS = "TLSGroupPreferences"

DEFAULT = frozenset(
    {
        ADDITIONAL_STORAGE,
        BOOT_IMAGE_SKEW,
        CPMS_BOOT_IMAGES,
        IRRECONCILABLE,
        NO_REGISTRY,
        OS_STREAMS,
        "AWSClusterHostedDNSInstall",
        "AWSDualStackInstall",
        "DualReplica",
        "VSphereHostVMGroupZonal",
        "VSphereMultiNetworks",
    }
)
TECH_PREVIEW = DEFAULT | {
    GOMAXPROCS,
    IMAGE_MODE_STATUS,
    TLS_GROUPS,
    "AWSEuropeanSovereignCloudInstall",
    "AzureDualStackInstall",
    "DyanmicServiceEndpointIBMCloud",  # the original spells it so
    "GCPSovereignCloudInstall",
    "NutanixMultiSubnets",
    "OnPremDNSRecords",
    "VSphereMultiVCenterDay2",
}
ALL = TECH_PREVIEW | {BGP_VIP, MUTABLE_TOPOLOGY}

FEATURE_SETS: Mapping[str, frozenset[str]] = {
    "Default": DEFAULT,
    "TechPreviewNoUpgrade": TECH_PREVIEW,
    "DevPreviewNoUpgrade": ALL,
    "CustomNoUpgrade": ALL,
}
"""For a self-managed profile."""
