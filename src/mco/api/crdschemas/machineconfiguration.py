"""operator.openshift.io MachineConfiguration (spec/node.md 1.13, 6.1)."""

from __future__ import annotations

from mco.api.schema import (
    CONDITION,
    LABEL_SELECTOR,
    Schema,
    atomic,
    enum,
    free,
    int32,
    int64,
    keyed,
    string,
    struct,
    unique,
)

SERVICE = (
    r"\.(service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$",
    r"^[a-zA-Z0-9:._\\-]+\..",
)
_LOG_LEVELS = ("", "Normal", "Debug", "Trace", "TraceAll")
_ACTIONS = ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")


def _service() -> Schema:
    """A systemd unit's name; both patterns must hold."""
    return string(minLength=1, maxLength=255, allOf=[{"pattern": pattern} for pattern in SERVICE])


def _policies(actions: tuple[str, ...], most: int) -> Schema:
    reference = struct({"serviceName": _service()}, required=("serviceName",))
    action = struct({"reload": reference, "restart": reference, "type": enum(*actions)}, required=("type",))
    listed = atomic(action, maxItems=10)

    def policy(key: str, value: Schema) -> Schema:
        return struct({"actions": listed, key: value}, required=("actions", key))

    return struct(
        {
            "files": keyed(["path"], policy("path", string(minLength=1)), maxItems=most),
            "sshkey": struct({"actions": listed}, required=("actions",)),
            "units": keyed(["name"], policy("name", _service()), maxItems=most),
        }
    )


def _boot_images() -> Schema:
    partial = struct({"machineResourceSelector": LABEL_SELECTOR}, required=("machineResourceSelector",))
    selection = struct({"mode": enum("All", "Partial", "None"), "partial": partial}, required=("mode",))
    manager = struct(
        {
            "apiGroup": enum("machine.openshift.io"),
            "resource": enum("machinesets", "controlplanemachinesets"),
            "selection": selection,
        },
        required=("apiGroup", "resource", "selection"),
    )
    return struct({"machineManagers": keyed(["resource", "apiGroup"], manager, maxItems=5)})


_OCP = string(minLength=5, maxLength=10, pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
_RHCOS = string(minLength=14, maxLength=21, pattern=r"^[0-9]+\.[0-9]+\.([0-9]{8}|[0-9]{12})-[0-9]+$")
_MANUAL = struct(
    {"mode": enum("OCPVersion", "RHCOSVersion"), "ocpVersion": _OCP, "rhcosVersion": _RHCOS},
    required=("mode",),
)
_AUTOMATIC = struct({"ocpVersion": _OCP, "rhcosVersion": _RHCOS}, minProperties=1)

MACHINE_CONFIGURATION = struct(
    {
        "spec": struct(
            {
                "bootImageSkewEnforcement": struct(
                    {"manual": _MANUAL, "mode": enum("Manual", "None")}, required=("mode",)
                ),
                "failedRevisionLimit": int32(),
                "forceRedeploymentReason": string(),
                "irreconcilableValidationOverrides": struct(
                    {"storage": unique(enum("Disks", "FileSystems", "Raid"), minItems=1, maxItems=3)},
                    minProperties=1,
                ),
                "logLevel": enum(*_LOG_LEVELS, default="Normal"),
                "managedBootImages": _boot_images(),
                "managementState": string(pattern="^(Managed|Unmanaged|Force|Removed)$"),
                "nodeDisruptionPolicy": _policies(_ACTIONS, 50),
                "observedConfig": free(nullable=True),
                "operatorLogLevel": enum(*_LOG_LEVELS, default="Normal"),
                "succeededRevisionLimit": int32(),
                "unsupportedConfigOverrides": free(nullable=True),
            }
        ),
        "status": struct(
            {
                "bootImageSkewEnforcementStatus": struct(
                    {"automatic": _AUTOMATIC, "manual": _MANUAL, "mode": enum("Automatic", "Manual", "None")},
                    required=("mode",),
                ),
                "conditions": keyed(["type"], CONDITION),
                "managedBootImagesStatus": _boot_images(),
                "nodeDisruptionPolicyStatus": struct(
                    {"clusterPolicies": _policies((*_ACTIONS, "Special"), 100)}
                ),
                "observedGeneration": int64(),
            }
        ),
    },
    required=("spec",),
)
