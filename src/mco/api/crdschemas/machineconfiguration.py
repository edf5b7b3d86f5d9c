"""operator.openshift.io MachineConfiguration (spec/node.md 1.13)."""

from __future__ import annotations

from mco.api.crdschemas.bootimages import MANAGED_BOOT_IMAGES, ROOT_RULES, SKEW, SKEW_STATUS
from mco.api.crdschemas.disruptionpolicies import ACTIONS, STATUS_ACTIONS, policies
from mco.api.gates import BOOT_IMAGE_SKEW, IRRECONCILABLE
from mco.api.schema import CONDITION, enum, free, int32, int64, keyed, string, struct, unique
from mco.api.variants import gated

_LOG_LEVEL = enum("", "Normal", "Debug", "Trace", "TraceAll", default="Normal")
_OVERRIDES = struct(
    {"storage": unique(enum("Disks", "FileSystems", "Raid"), minItems=1, maxItems=3)}, minProperties=1
)

MACHINE_CONFIGURATION = struct(
    {
        "spec": struct(
            {
                "bootImageSkewEnforcement": gated(BOOT_IMAGE_SKEW, SKEW),
                "failedRevisionLimit": int32(),
                "forceRedeploymentReason": string(),
                "irreconcilableValidationOverrides": gated(IRRECONCILABLE, _OVERRIDES),
                "logLevel": _LOG_LEVEL,
                "managedBootImages": MANAGED_BOOT_IMAGES,
                "managementState": string(pattern="^(Managed|Unmanaged|Force|Removed)$"),
                "nodeDisruptionPolicy": policies(ACTIONS, most=50),
                "observedConfig": free(nullable=True),
                "operatorLogLevel": _LOG_LEVEL,
                "succeededRevisionLimit": int32(),
                "unsupportedConfigOverrides": free(nullable=True),
            }
        ),
        "status": struct(
            {
                "bootImageSkewEnforcementStatus": gated(BOOT_IMAGE_SKEW, SKEW_STATUS),
                "conditions": keyed(["type"], CONDITION),
                "managedBootImagesStatus": MANAGED_BOOT_IMAGES,
                "nodeDisruptionPolicyStatus": struct({"clusterPolicies": policies(STATUS_ACTIONS, most=100)}),
                "observedGeneration": int64(),
            }
        ),
    },
    required=("spec",),
    rules=[gated(BOOT_IMAGE_SKEW, each) for each in ROOT_RULES],
)
