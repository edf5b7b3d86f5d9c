"""operator.openshift.io MachineConfiguration (spec/node.md 1.13, 6.1, 12.11, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import condition

_KIND = Kind("MachineConfiguration")


def _manager(resource: str = "machinesets", mode: str = "All", **more: Any) -> Body:
    selection = {"mode": mode, **({"partial": {"machineResourceSelector": {}}} if mode == "Partial" else {})}
    return {"resource": resource, "apiGroup": "machine.openshift.io", "selection": selection, **more}


def _managers(*managers: Body) -> Body:
    return {"managedBootImages": {"machineManagers": list(managers)}}


_FIRST = "spec.managedBootImages.machineManagers[0]"
_PARTIAL = "Partial is required when type is partial, and forbidden otherwise"
_SELECTOR = {"machineResourceSelector": {"matchLabels": {"a": "b"}}}

GENERAL = (
    _KIND.refused("no spec", None, "Required value", "spec"),
    _KIND.accepted("defaults", {}, spec__logLevel="Normal", spec__operatorLogLevel="Normal"),
    _KIND.accepted("an empty log level stays", {"logLevel": ""}, spec__logLevel=""),
    *(_KIND.accepted(f"log level {level}", {"logLevel": level}) for level in ("Debug", "Trace", "TraceAll")),
    _KIND.refused("another log level", {"logLevel": "Info"}, "Unsupported value", "spec.logLevel"),
    _KIND.refused("another operator log level", {"operatorLogLevel": "debug"}, "Unsupported value"),
    *(
        _KIND.accepted(f"state {state}", {"managementState": state})
        for state in ("Managed", "Unmanaged", "Force", "Removed")
    ),
    *(
        _KIND.refused(f"state {state!r}", {"managementState": state}, "should match", "spec.managementState")
        for state in ("", "managed", "Managed ")
    ),
    _KIND.accepted("any override", {"unsupportedConfigOverrides": {"a": {"b": 1}}, "observedConfig": None}),
    _KIND.status("conditions", {}, {"conditions": [condition("BootImageUpdateProgressing")]}),
    _KIND.status("a condition twice", {}, {"conditions": [condition("A")] * 2}, "Duplicate value"),
)


def _overrides(*storage: str) -> Body:
    return {"irreconcilableValidationOverrides": {"storage": list(storage)}}


OVERRIDES = (
    _KIND.accepted("storage overrides", _overrides("Disks", "FileSystems", "Raid")),
    _KIND.refused("no storage", _overrides(), "should have at least 1 items"),
    _KIND.refused("unknown storage", _overrides("Disks", "Luks"), "Unsupported value"),
    _KIND.refused("storage twice", _overrides("Raid", "Raid"), "Duplicate value"),
    _KIND.refused(
        "no override",
        {"irreconcilableValidationOverrides": {}},
        "should have at least 1 properties",
        "spec.irreconcilableValidationOverrides",
    ),
)

BOOT_IMAGES = (
    _KIND.accepted("no managers", _managers()),
    *(
        _KIND.accepted(f"machine sets, {mode}", _managers(_manager(mode=mode)))
        for mode in ("All", "Partial", "None")
    ),
    *(
        _KIND.accepted(f"the control plane, {mode}", _managers(_manager("controlplanemachinesets", mode)))
        for mode in ("All", "None")
    ),
    _KIND.refused(
        "the control plane, Partial",
        _managers(_manager("controlplanemachinesets", "Partial")),
        "Only All or None selection mode is permitted for ControlPlaneMachineSets",
        _FIRST,
    ),
    _KIND.refused(
        "Partial without a selector",
        _managers(_manager(selection={"mode": "Partial"})),
        _PARTIAL,
        f"{_FIRST}.selection",
    ),
    *(
        _KIND.refused(
            f"{mode} with a selector",
            _managers(_manager(selection={"mode": mode, "partial": _SELECTOR})),
            _PARTIAL,
            f"{_FIRST}.selection",
        )
        for mode in ("All", "None")
    ),
    _KIND.refused(
        "Partial with an empty member",
        _managers(_manager(selection={"mode": "Partial", "partial": {}})),
        "Required value",
    ),
    _KIND.refused("no mode", _managers(_manager(selection={})), "Required value", f"{_FIRST}.selection.mode"),
    _KIND.refused("another mode", _managers(_manager(selection={"mode": "Some"})), "Unsupported value"),
    _KIND.refused(
        "another resource", _managers(_manager("machines")), "Unsupported value", f"{_FIRST}.resource"
    ),
    _KIND.refused(
        "another group",
        _managers(_manager(apiGroup="cluster.x-k8s.io")),
        "Unsupported value",
        f"{_FIRST}.apiGroup",
    ),
    _KIND.refused("a manager twice", _managers(_manager(), _manager(mode="None")), "Duplicate value"),
    _KIND.accepted("both managers", _managers(_manager(), _manager("controlplanemachinesets"))),
    _KIND.status(
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
    _KIND.accepted("no enforcement", _skew("None")),
    _KIND.accepted("manual, OCP", _skew("Manual", mode="OCPVersion", ocpVersion=_OCP)),
    _KIND.accepted("manual, RHCOS", _skew("Manual", mode="RHCOSVersion", rhcosVersion=_RHCOS)),
    _KIND.refused(
        "automatic in the spec", _skew("Automatic"), "Unsupported value", "spec.bootImageSkewEnforcement.mode"
    ),
    _KIND.refused("no mode", {"bootImageSkewEnforcement": {}}, "Required value"),
    _KIND.refused("manual without versions", _skew("Manual"), _MANUAL, "spec.bootImageSkewEnforcement"),
    _KIND.refused("none with versions", _skew("None", mode="OCPVersion", ocpVersion=_OCP), _MANUAL),
    _KIND.refused(
        "an OCP version is missing",
        _skew("Manual", mode="OCPVersion"),
        "ocpVersion is required when mode is OCPVersion, and forbidden otherwise",
        "spec.bootImageSkewEnforcement.manual",
    ),
    _KIND.refused(
        "an RHCOS version is missing",
        _skew("Manual", mode="RHCOSVersion"),
        "rhcosVersion is required when mode is RHCOSVersion, and forbidden otherwise",
    ),
    _KIND.refused(
        "an RHCOS version too many",
        _skew("Manual", mode="OCPVersion", ocpVersion=_OCP, rhcosVersion=_RHCOS),
        "rhcosVersion is required when mode is RHCOSVersion, and forbidden otherwise",
    ),
    _KIND.refused(
        "an OCP version too many",
        _skew("Manual", mode="RHCOSVersion", ocpVersion=_OCP, rhcosVersion=_RHCOS),
        "ocpVersion is required when mode is OCPVersion, and forbidden otherwise",
    ),
    *(
        _KIND.steps(
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
    _KIND.status(
        "automatic without versions",
        {},
        _boot_status(_manager()) | {"bootImageSkewEnforcementStatus": {"mode": "Automatic"}},
        "automatic is required when mode is Automatic, and forbidden otherwise",
        _STATUS,
    ),
    _KIND.status(
        "automatic with an empty member",
        {},
        _boot_status(_manager()) | {"bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": {}}},
        "should have at least 1 properties",
        f"{_STATUS}.automatic",
    ),
    _KIND.status(
        "automatic with both versions",
        {},
        _boot_status(_manager()) | _automatic(ocpVersion=_OCP, rhcosVersion=_RHCOS),
    ),
    _KIND.status(
        "manual in the status",
        {},
        {
            "bootImageSkewEnforcementStatus": {
                "mode": "Manual",
                "manual": {"mode": "OCPVersion", "ocpVersion": _OCP},
            }
        },
    ),
    _KIND.status(
        "manual in the status, nothing with it",
        {},
        {"bootImageSkewEnforcementStatus": {"mode": "Manual"}},
        _MANUAL,
        _STATUS,
    ),
    _KIND.status(
        "none in the status, automatic with it",
        {},
        {"bootImageSkewEnforcementStatus": {"mode": "None", "automatic": {"ocpVersion": _OCP}}},
        "automatic is required when mode is Automatic, and forbidden otherwise",
    ),
    _KIND.status(
        "automatic, no boot images anywhere", {}, _automatic(), _WHEN + "a boot image configuration"
    ),
    _KIND.status("automatic, all in the spec", _managers(_manager()), _automatic()),
    _KIND.status("automatic, all in the status", {}, _boot_status(_manager()) | _automatic()),
    _KIND.status(
        "automatic, an empty list in the spec",
        _managers(),
        _boot_status(_manager()) | _automatic(),
        _WHEN + "managedBootImages.machineManagers must not be an empty list",
    ),
    *(
        _KIND.status(
            f"automatic, {mode} in the spec",
            _managers(_manager(mode=mode)),
            _boot_status(_manager()) | _automatic(),
            _WHEN + "any MachineAPI MachineSet MachineManager must use selection mode 'All'",
        )
        for mode in ("Partial", "None")
    ),
    *(
        _KIND.status(
            f"automatic, only the control plane in the spec, {mode}",
            _managers(_manager("controlplanemachinesets", mode)),
            _automatic(),
        )
        for mode in ("All", "None")
    ),
    *(
        _KIND.status(
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
    _KIND.steps(
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


def _file(*actions: Body, path: str = "/etc/a") -> Body:
    return {"nodeDisruptionPolicy": {"files": [{"path": path, "actions": list(actions)}]}}


def _action(kind: str, **more: Any) -> Body:
    service = {"serviceName": "crio.service"}
    return {"type": kind, **({kind.lower(): service} if kind in ("Reload", "Restart") else {}), **more}


def _unit(name: str) -> Body:
    return {"nodeDisruptionPolicy": {"units": [{"name": name, "actions": []}]}}


def _restart(service: str) -> Body:
    return _file({"type": "Restart", "restart": {"serviceName": service}})


_ACTIONS = "spec.nodeDisruptionPolicy.files[0].actions"
_SERVICE_TYPE = "Invalid ${SERVICETYPE} in service name."
_SERVICE_NAME = "Invalid ${NAME} in service name."
_SERVICES = {
    "service": ("crio.service", ""),
    "instance of letters only": ("a:b_c-d.e\\x2d.socket", ""),
    "no type": ("crio", _SERVICE_TYPE),
    "another type": ("crio.conf", _SERVICE_TYPE),
    "type in the middle": ("crio.service.bak", _SERVICE_TYPE),
    "type only": (".service", _SERVICE_NAME),
    "template instance": ("getty@tty1.service", _SERVICE_NAME),
    "a blank": ("my unit.service", _SERVICE_NAME),
    "a slash": ("a/b.service", _SERVICE_NAME),
    "longest": ("x" * 247 + ".service", ""),
    "too long": ("x" * 248 + ".service", "Too long: may not be more than 255 bytes"),
    "empty": ("", _SERVICE_TYPE),
}

POLICIES = (
    *(
        _KIND.accepted(f"action {kind}", _file(_action(kind)))
        for kind in ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")
    ),
    _KIND.refused(
        "Special in the spec", _file(_action("Special")), "Unsupported value", f"{_ACTIONS}[0].type"
    ),
    _KIND.status(
        "Special in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": _file(_action("Special"))["nodeDisruptionPolicy"]
            }
        },
    ),
    _KIND.accepted("no actions", _file()),
    _KIND.accepted("several actions", _file(_action("Drain"), _action("DaemonReload"), _action("Restart"))),
    *(
        _KIND.refused(
            f"{kind} with another",
            _file(_action(kind), _action("Drain")),
            f"{kind} action can only be specified standalone, as it will override any other actions",
            _ACTIONS,
        )
        for kind in ("Reboot", "None")
    ),
    _KIND.refused("11 actions", _file(*[_action("Drain")] * 11), "must have at most 10 items", _ACTIONS),
    _KIND.accepted("10 actions", _file(*[_action("Drain")] * 10)),
    *(
        _KIND.refused(
            f"{kind} without a service",
            _file({"type": kind}),
            f"{kind.lower()} is required when type is {kind}, and forbidden otherwise",
            f"{_ACTIONS}[0]",
        )
        for kind in ("Reload", "Restart")
    ),
    _KIND.refused(
        "Drain with a service",
        _file(_action("Drain", restart={"serviceName": "a.service"})),
        "restart is required when type is Restart, and forbidden otherwise",
        f"{_ACTIONS}[0]",
    ),
    _KIND.refused("an action without a type", _file({}), "Required value", f"{_ACTIONS}[0].type"),
    _KIND.refused(
        "files without actions", {"nodeDisruptionPolicy": {"files": [{"path": "/a"}]}}, "Required value"
    ),
    _KIND.refused(
        "a path twice",
        {"nodeDisruptionPolicy": {"files": [{"path": "/a", "actions": []}] * 2}},
        "Duplicate value",
        "spec.nodeDisruptionPolicy.files[1]",
    ),
    *(
        _KIND.refused(
            f"51 {part}",
            {"nodeDisruptionPolicy": {part: [{key: f"a{n}.service", "actions": []} for n in range(51)]}},
            "must have at most 50 items",
        )
        for part, key in (("files", "path"), ("units", "name"))
    ),
    _KIND.status(
        "a hundred files in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": {"files": [{"path": f"/{n}", "actions": []} for n in range(100)]}
            }
        },
    ),
    _KIND.status(
        "101 files in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": {"files": [{"path": f"/{n}", "actions": []} for n in range(101)]}
            }
        },
        "must have at most 100 items",
    ),
    _KIND.accepted(
        "actions for SSH keys", {"nodeDisruptionPolicy": {"sshkey": {"actions": [_action("None")]}}}
    ),
    _KIND.refused("SSH keys without actions", {"nodeDisruptionPolicy": {"sshkey": {}}}, "Required value"),
    *(
        _KIND.steps(f"{what}, {name}", Step("create", spec(value), error, field if error else ""))
        for what, spec, field in (
            ("unit", _unit, "spec.nodeDisruptionPolicy.units[0].name"),
            ("restarted service", _restart, f"{_ACTIONS}[0].restart.serviceName"),
        )
        for name, (value, error) in _SERVICES.items()
    ),
)

CONFIGURATIONS = (*GENERAL, *OVERRIDES, *BOOT_IMAGES, *SKEW, *POLICIES)
