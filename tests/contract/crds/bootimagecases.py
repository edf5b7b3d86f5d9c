"""Boot images in a MachineConfiguration (spec/node.md 1.13, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Step
from tests.contract.crds.operatorcases import KIND


def _manager(resource: str = "machinesets", mode: str = "All", **more: Any) -> Body:
    selection = {"mode": mode, **({"partial": {"machineResourceSelector": {}}} if mode == "Partial" else {})}
    return {"resource": resource, "apiGroup": "machine.openshift.io", "selection": selection, **more}


def _managers(*managers: Body) -> Body:
    return {"managedBootImages": {"machineManagers": list(managers)}}


_FIRST = "spec.managedBootImages.machineManagers[0]"
_PARTIAL = "Partial is required when type is partial, and forbidden otherwise"
_SELECTOR = {"machineResourceSelector": {"matchLabels": {"a": "b"}}}

BOOT_IMAGES = (
    KIND.accepted("no managers", _managers()),
    *(
        KIND.accepted(f"machine sets, {mode}", _managers(_manager(mode=mode)))
        for mode in ("All", "Partial", "None")
    ),
    *(
        KIND.accepted(f"the control plane, {mode}", _managers(_manager("controlplanemachinesets", mode)))
        for mode in ("All", "None")
    ),
    KIND.refused(
        "the control plane, Partial",
        _managers(_manager("controlplanemachinesets", "Partial")),
        "Only All or None selection mode is permitted for ControlPlaneMachineSets",
        _FIRST,
    ),
    KIND.refused(
        "Partial without a selector",
        _managers(_manager(selection={"mode": "Partial"})),
        _PARTIAL,
        f"{_FIRST}.selection",
    ),
    *(
        KIND.refused(
            f"{mode} with a selector",
            _managers(_manager(selection={"mode": mode, "partial": _SELECTOR})),
            _PARTIAL,
            f"{_FIRST}.selection",
        )
        for mode in ("All", "None")
    ),
    KIND.refused(
        "Partial with an empty member",
        _managers(_manager(selection={"mode": "Partial", "partial": {}})),
        "Required value",
    ),
    KIND.refused("no mode", _managers(_manager(selection={})), "Required value", f"{_FIRST}.selection.mode"),
    KIND.refused("another mode", _managers(_manager(selection={"mode": "Some"})), "Unsupported value"),
    KIND.refused(
        "another resource", _managers(_manager("machines")), "Unsupported value", f"{_FIRST}.resource"
    ),
    KIND.refused(
        "another group",
        _managers(_manager(apiGroup="cluster.x-k8s.io")),
        "Unsupported value",
        f"{_FIRST}.apiGroup",
    ),
    KIND.refused("a manager twice", _managers(_manager(), _manager(mode="None")), "Duplicate value"),
    KIND.accepted("both managers", _managers(_manager(), _manager("controlplanemachinesets"))),
    KIND.status(
        "a wrong manager in the status",
        {},
        {"managedBootImagesStatus": {"machineManagers": [_manager(selection={"mode": "Partial"})]}},
        _PARTIAL,
        "status.managedBootImagesStatus.machineManagers[0].selection",
    ),
)


def _skew(enforced: str, **manual: Any) -> Body:
    return {"bootImageSkewEnforcement": {"mode": enforced, **({"manual": manual} if manual else {})}}


_OCP, _RHCOS = "4.20.1", "9.6.20250701-0"
_MANUAL = "manual is required when mode is Manual, and forbidden otherwise"
_OCP_FORM = "ocpVersion must match the OCP semver compatible format of x.y.z"
_RHCOS_FORM = "rhcosVersion must match format [major].[minor].[datestamp(YYYYMMDD)]-[buildnumber]"
_VERSIONS = {
    "ocpVersion": {
        "shortest": ("4.1.0", ""),
        "longest": ("4.20.12345", ""),
        "two numbers": ("4.20.", _OCP_FORM),
        "letters": ("4.20.x", _OCP_FORM),
        "a candidate": ("4.20.0-rc1", _OCP_FORM),
        "too short": ("4.20", "should be at least 5 chars long"),
        "too long": ("4.20.123456", "Too long: may not be more than 10 bytes"),
    },
    "rhcosVersion": {
        "date": (_RHCOS, ""),
        "date and time": ("418.94.202501010101-0", ""),
        "no build": ("9.6.202507010000", _RHCOS_FORM),
        "nine digits": ("9.6.202507011-0", _RHCOS_FORM),
        "letters": ("9.6.2025070a-00", _RHCOS_FORM),
        "too short": ("9.6.20250701-", "should be at least 14 chars long"),
        "too long": ("418.94.202501010101-01", "Too long: may not be more than 21 bytes"),
    },
}


def _automatic(**more: Any) -> Body:
    return {
        "bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": more or {"ocpVersion": _OCP}}
    }


def _boot_status(*managers: Body) -> Body:
    return {"managedBootImagesStatus": {"machineManagers": list(managers)}}


_STATUS = "status.bootImageSkewEnforcementStatus"
_WHEN = "when skew enforcement is in Automatic mode, "

SKEW = (
    KIND.accepted("no enforcement", _skew("None")),
    KIND.accepted("manual, OCP", _skew("Manual", mode="OCPVersion", ocpVersion=_OCP)),
    KIND.accepted("manual, RHCOS", _skew("Manual", mode="RHCOSVersion", rhcosVersion=_RHCOS)),
    KIND.refused(
        "automatic in the spec", _skew("Automatic"), "Unsupported value", "spec.bootImageSkewEnforcement.mode"
    ),
    KIND.refused("no enforcement mode", {"bootImageSkewEnforcement": {}}, "Required value"),
    KIND.refused("manual without versions", _skew("Manual"), _MANUAL, "spec.bootImageSkewEnforcement"),
    KIND.refused("none with versions", _skew("None", mode="OCPVersion", ocpVersion=_OCP), _MANUAL),
    KIND.refused(
        "an OCP version is missing",
        _skew("Manual", mode="OCPVersion"),
        "ocpVersion is required when mode is OCPVersion, and forbidden otherwise",
        "spec.bootImageSkewEnforcement.manual",
    ),
    KIND.refused(
        "an RHCOS version is missing",
        _skew("Manual", mode="RHCOSVersion"),
        "rhcosVersion is required when mode is RHCOSVersion, and forbidden otherwise",
    ),
    KIND.refused(
        "an RHCOS version too many",
        _skew("Manual", mode="OCPVersion", ocpVersion=_OCP, rhcosVersion=_RHCOS),
        "rhcosVersion is required when mode is RHCOSVersion, and forbidden otherwise",
    ),
    KIND.refused(
        "an OCP version too many",
        _skew("Manual", mode="RHCOSVersion", ocpVersion=_OCP, rhcosVersion=_RHCOS),
        "ocpVersion is required when mode is OCPVersion, and forbidden otherwise",
    ),
    *(
        KIND.steps(
            f"{field}, {name}",
            Step(
                "create",
                _skew("Manual", mode=f"{field[:-7].upper()}Version", **{field: value}),
                error,
                f"spec.bootImageSkewEnforcement.manual.{field}" if error else "",
            ),
        )
        for field, table in _VERSIONS.items()
        for name, (value, error) in table.items()
    ),
    KIND.status(
        "automatic without versions",
        {},
        _boot_status(_manager()) | {"bootImageSkewEnforcementStatus": {"mode": "Automatic"}},
        "automatic is required when mode is Automatic, and forbidden otherwise",
        _STATUS,
    ),
    KIND.status(
        "automatic with an empty member",
        {},
        _boot_status(_manager()) | {"bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": {}}},
        "should have at least 1 properties",
        f"{_STATUS}.automatic",
    ),
    KIND.status(
        "automatic with both versions",
        {},
        _boot_status(_manager()) | _automatic(ocpVersion=_OCP, rhcosVersion=_RHCOS),
    ),
    KIND.status(
        "manual in the status",
        {},
        {
            "bootImageSkewEnforcementStatus": {
                "mode": "Manual",
                "manual": {"mode": "OCPVersion", "ocpVersion": _OCP},
            }
        },
    ),
    KIND.status(
        "manual in the status, nothing with it",
        {},
        {"bootImageSkewEnforcementStatus": {"mode": "Manual"}},
        _MANUAL,
        _STATUS,
    ),
    KIND.status(
        "none in the status, automatic with it",
        {},
        {"bootImageSkewEnforcementStatus": {"mode": "None", "automatic": {"ocpVersion": _OCP}}},
        "automatic is required when mode is Automatic, and forbidden otherwise",
    ),
    KIND.status("automatic, no boot images anywhere", {}, _automatic(), _WHEN + "a boot image configuration"),
    KIND.status("automatic, all in the spec", _managers(_manager()), _automatic()),
    KIND.status("automatic, all in the status", {}, _boot_status(_manager()) | _automatic()),
    KIND.status(
        "automatic, an empty list in the spec",
        _managers(),
        _boot_status(_manager()) | _automatic(),
        _WHEN + "managedBootImages.machineManagers must not be an empty list",
    ),
    *(
        KIND.status(
            f"automatic, {mode} in the spec",
            _managers(_manager(mode=mode)),
            _boot_status(_manager()) | _automatic(),
            _WHEN + "any MachineAPI MachineSet MachineManager must use selection mode 'All'",
        )
        for mode in ("Partial", "None")
    ),
    *(
        KIND.status(
            f"automatic, only the control plane in the spec, {mode}",
            _managers(_manager("controlplanemachinesets", mode)),
            _automatic(),
        )
        for mode in ("All", "None")
    ),
    *(
        KIND.status(
            f"automatic, {name} in the status",
            {},
            _boot_status(*managers) | _automatic(),
            _WHEN + "managedBootImagesStatus must contain a MachineManager opting in all",
        )
        for name, managers in {
            "an empty list": (),
            "only some": (_manager(mode="Partial"),),
            "only the control plane": (_manager("controlplanemachinesets"),),
        }.items()
    ),
    KIND.steps(
        "automatic, the spec becomes partial later",
        Step("create", _managers(_manager())),
        Step("status", _boot_status(_manager()) | _automatic()),
        Step(
            "update",
            _managers(_manager(mode="Partial")),
            _WHEN + "any MachineAPI MachineSet MachineManager must use selection mode 'All'",
        ),
    ),
)

BOOT_CASES = (*BOOT_IMAGES, *SKEW)
