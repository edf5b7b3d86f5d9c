"""MachineConfiguration: disruption policies and the rest (spec/node.md 1.13, 6.1, 12.11, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind, Step
from tests.contract.crds.formatcases import condition

KIND = Kind("MachineConfiguration")

GENERAL = (
    KIND.refused("no spec", None, "Required value", "spec"),
    KIND.accepted("defaults", {}, spec__logLevel="Normal", spec__operatorLogLevel="Normal"),
    KIND.accepted("an empty log level stays", {"logLevel": ""}, spec__logLevel=""),
    *(KIND.accepted(f"log level {level}", {"logLevel": level}) for level in ("Debug", "Trace", "TraceAll")),
    KIND.refused("another log level", {"logLevel": "Info"}, "Unsupported value", "spec.logLevel"),
    KIND.refused("another operator log level", {"operatorLogLevel": "debug"}, "Unsupported value"),
    *(
        KIND.accepted(f"state {state}", {"managementState": state})
        for state in ("Managed", "Unmanaged", "Force", "Removed")
    ),
    *(
        KIND.refused(f"state {state!r}", {"managementState": state}, "should match", "spec.managementState")
        for state in ("", "managed", "Managed ")
    ),
    KIND.accepted("any override", {"unsupportedConfigOverrides": {"a": {"b": 1}}, "observedConfig": None}),
    KIND.status("conditions", {}, {"conditions": [condition("BootImageUpdateProgressing")]}),
    KIND.status("a condition twice", {}, {"conditions": [condition("A")] * 2}, "Duplicate value"),
)


def _overrides(*storage: str) -> Body:
    return {"irreconcilableValidationOverrides": {"storage": list(storage)}}


OVERRIDES = (
    KIND.accepted("storage overrides", _overrides("Disks", "FileSystems", "Raid")),
    KIND.refused("no storage", _overrides(), "should have at least 1 items"),
    KIND.refused("unknown storage", _overrides("Disks", "Luks"), "Unsupported value"),
    KIND.refused("storage twice", _overrides("Raid", "Raid"), "Duplicate value"),
    KIND.refused(
        "no override",
        {"irreconcilableValidationOverrides": {}},
        "should have at least 1 properties",
        "spec.irreconcilableValidationOverrides",
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
        KIND.accepted(f"action {kind}", _file(_action(kind)))
        for kind in ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")
    ),
    KIND.refused(
        "Special in the spec", _file(_action("Special")), "Unsupported value", f"{_ACTIONS}[0].type"
    ),
    KIND.status(
        "Special in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": _file(_action("Special"))["nodeDisruptionPolicy"]
            }
        },
    ),
    KIND.accepted("no actions", _file()),
    KIND.accepted("several actions", _file(_action("Drain"), _action("DaemonReload"), _action("Restart"))),
    *(
        KIND.refused(
            f"{kind} with another",
            _file(_action(kind), _action("Drain")),
            f"{kind} action can only be specified standalone, as it will override any other actions",
            _ACTIONS,
        )
        for kind in ("Reboot", "None")
    ),
    KIND.refused("11 actions", _file(*[_action("Drain")] * 11), "must have at most 10 items", _ACTIONS),
    KIND.accepted("10 actions", _file(*[_action("Drain")] * 10)),
    *(
        KIND.refused(
            f"{kind} without a service",
            _file({"type": kind}),
            f"{kind.lower()} is required when type is {kind}, and forbidden otherwise",
            f"{_ACTIONS}[0]",
        )
        for kind in ("Reload", "Restart")
    ),
    KIND.refused(
        "Drain with a service",
        _file(_action("Drain", restart={"serviceName": "a.service"})),
        "restart is required when type is Restart, and forbidden otherwise",
        f"{_ACTIONS}[0]",
    ),
    KIND.refused("an action without a type", _file({}), "Required value", f"{_ACTIONS}[0].type"),
    KIND.refused(
        "files without actions", {"nodeDisruptionPolicy": {"files": [{"path": "/a"}]}}, "Required value"
    ),
    KIND.refused(
        "a path twice",
        {"nodeDisruptionPolicy": {"files": [{"path": "/a", "actions": []}] * 2}},
        "Duplicate value",
        "spec.nodeDisruptionPolicy.files[1]",
    ),
    *(
        KIND.refused(
            f"51 {part}",
            {"nodeDisruptionPolicy": {part: [{key: f"a{n}.service", "actions": []} for n in range(51)]}},
            "must have at most 50 items",
        )
        for part, key in (("files", "path"), ("units", "name"))
    ),
    KIND.status(
        "a hundred files in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": {"files": [{"path": f"/{n}", "actions": []} for n in range(100)]}
            }
        },
    ),
    KIND.status(
        "101 files in the status",
        {},
        {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": {"files": [{"path": f"/{n}", "actions": []} for n in range(101)]}
            }
        },
        "must have at most 100 items",
    ),
    KIND.accepted(
        "actions for SSH keys", {"nodeDisruptionPolicy": {"sshkey": {"actions": [_action("None")]}}}
    ),
    KIND.refused("SSH keys without actions", {"nodeDisruptionPolicy": {"sshkey": {}}}, "Required value"),
    *(
        KIND.steps(f"{what}, {name}", Step("create", spec(value), error, field if error else ""))
        for what, spec, field in (
            ("unit", _unit, "spec.nodeDisruptionPolicy.units[0].name"),
            ("restarted service", _restart, f"{_ACTIONS}[0].restart.serviceName"),
        )
        for name, (value, error) in _SERVICES.items()
    ),
)

CONFIGURATIONS = (*GENERAL, *OVERRIDES, *POLICIES)
