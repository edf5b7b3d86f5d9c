"""Managed boot images and what is enforced when they fall behind (spec/node.md 1.13)."""

from __future__ import annotations

from mco.api.formats import only_with
from mco.api.gates import CPMS_BOOT_IMAGES
from mco.api.schema import LABEL_SELECTOR, Rule, enum, keyed, rule, string, struct
from mco.api.variants import base, gated

_MACHINE_SETS, _CONTROL_PLANE = "machinesets", "controlplanemachinesets"
_MAPI = "machine.openshift.io"

_SELECTION = struct(
    {
        "mode": enum("All", "Partial", "None"),
        "partial": struct({"machineResourceSelector": LABEL_SELECTOR}, required=("machineResourceSelector",)),
    },
    required=("mode",),
    rules=[
        only_with(
            "partial", "mode", "Partial", "Partial is required when type is partial, and forbidden otherwise"
        )
    ],
)
_MANAGER = struct(
    {
        "apiGroup": enum(_MAPI),
        "resource": {
            "type": "string",
            "enum": (
                base([_MACHINE_SETS]),
                gated(CPMS_BOOT_IMAGES, [_MACHINE_SETS, _CONTROL_PLANE]),
            ),
        },
        "selection": _SELECTION,
    },
    required=("apiGroup", "resource", "selection"),
    rules=[
        gated(
            CPMS_BOOT_IMAGES,
            rule(
                f"self.resource != '{_CONTROL_PLANE}' || self.selection.mode in ['All', 'None']",
                "Only All or None selection mode is permitted for ControlPlaneMachineSets",
            ),
        )
    ],
)
MANAGED_BOOT_IMAGES = struct({"machineManagers": keyed(["resource", "apiGroup"], _MANAGER, maxItems=5)})

_VERSIONS = {
    "ocpVersion": string(
        minLength=5,
        maxLength=10,
        rules=[
            rule(
                r"self.matches('^[0-9]+\\.[0-9]+\\.[0-9]+$')",
                "ocpVersion must match the OCP semver compatible format of x.y.z",
            )
        ],
    ),
    "rhcosVersion": string(
        minLength=14,
        maxLength=21,
        rules=[
            rule(
                r"self.matches('^[0-9]+\\.[0-9]+\\.([0-9]{8}|[0-9]{12})-[0-9]+$')",
                "rhcosVersion must match format [major].[minor].[datestamp(YYYYMMDD)]-[buildnumber] or must "
                "match legacy format [major].[minor].[timestamp(YYYYMMDDHHmm)]-[buildnumber]",
            )
        ],
    ),
}
_MANUAL = struct(
    {"mode": enum("OCPVersion", "RHCOSVersion"), **_VERSIONS},
    required=("mode",),
    rules=[
        only_with("ocpVersion", "mode", "OCPVersion"),
        only_with("rhcosVersion", "mode", "RHCOSVersion"),
    ],
)
_AUTOMATIC = struct(
    dict(_VERSIONS),
    minProperties=1,
    rules=[
        rule(
            "has(self.ocpVersion) || has(self.rhcosVersion)",
            "at least one of ocpVersion or rhcosVersion is required",
        )
    ],
)
SKEW = struct(
    {"manual": _MANUAL, "mode": enum("Manual", "None")},
    required=("mode",),
    rules=[only_with("manual", "mode", "Manual")],
)
SKEW_STATUS = struct(
    {"automatic": _AUTOMATIC, "manual": _MANUAL, "mode": enum("Automatic", "Manual", "None")},
    required=("mode",),
    rules=[only_with("automatic", "mode", "Automatic"), only_with("manual", "mode", "Manual")],
)


def _when_automatic(condition: str, text: str) -> Rule:
    mode = "self.?status.bootImageSkewEnforcementStatus.mode.orValue('')"
    return rule(
        f"{mode} != 'Automatic' || {condition}", f"when skew enforcement is in Automatic mode, {text}"
    )


_IN_SPEC = "self.?spec.managedBootImages"
_IN_STATUS = "self.?status.managedBootImagesStatus"
_IS_MACHINE_SETS = f"m.resource == '{_MACHINE_SETS}' && m.apiGroup == '{_MAPI}'"

ROOT_RULES = (
    _when_automatic(
        f"{_IN_SPEC}.hasValue() || {_IN_STATUS}.hasValue()", "a boot image configuration is required"
    ),
    _when_automatic(
        f"!{_IN_SPEC}.machineManagers.hasValue() || size(self.spec.managedBootImages.machineManagers) > 0",
        "managedBootImages.machineManagers must not be an empty list",
    ),
    _when_automatic(
        f"!{_IN_SPEC}.machineManagers.hasValue() || "
        f"self.spec.managedBootImages.machineManagers.all(m, !({_IS_MACHINE_SETS}) || "
        "m.selection.mode == 'All')",
        "any MachineAPI MachineSet MachineManager must use selection mode 'All'",
    ),
    _when_automatic(
        f"!{_IN_STATUS}.machineManagers.hasValue() || "
        f"self.status.managedBootImagesStatus.machineManagers.exists(m, {_IS_MACHINE_SETS} && "
        "m.selection.mode == 'All')",
        "managedBootImagesStatus must contain a MachineManager opting in all MachineAPI MachineSets",
    ),
)
"""Of the whole object: automatic enforcement needs boot images that are managed."""
