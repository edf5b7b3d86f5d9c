"""Bounds of every kind but ControllerConfig (spec/node.md 1)."""

from __future__ import annotations

from tests.contract.crds.bounds import at_least, specs, statuses, too_long
from tests.contract.crds.cases import Body, Case, Kind
from tests.contract.crds.formatcases import HEX, IMAGE

_SERVICE = "x" * 248 + ".service"


def _actions() -> list[Body]:
    return [
        {"type": "Reload", "reload": {"serviceName": "a.service"}},
        {"type": "Restart", "restart": {"serviceName": "b.service"}},
    ]


def _policies() -> Body:
    return {
        "files": [{"path": "/a", "actions": _actions()}],
        "units": [{"name": "a.service", "actions": _actions()}],
        "sshkey": {"actions": _actions()},
    }


_POLICY_SERVICES = {
    f"{part}.actions.{index}.{verb}.serviceName": (_SERVICE, too_long(255))
    for part in ("files.0", "units.0", "sshkey")
    for index, verb in enumerate(("reload", "restart"))
}
_MANUAL = {"mode": "OCPVersion", "ocpVersion": "4.18.1"}
_VERSIONS = {"ocpVersion": "4.18.1", "rhcosVersion": "418.94.202410090804-0"}
_REFERENCE = {"group": "batch", "resource": "jobs", "namespace": "ns", "name": "a"}
_LONG_REFERENCE = {
    "group": ("x" * 254, too_long(253)),
    "name": ("x" * 254, too_long(253)),
    "namespace": ("x" * 64, too_long(63)),
    "resource": ("x" * 64, too_long(63)),
}
_BUILD = {
    "machineConfig": {"name": "rendered-worker-1"},
    "machineOSConfig": {"name": "worker"},
    "renderedImagePushSpec": "quay.io/os:v1",
}
_STREAMS = {
    "availableStreams": [{"name": "a", "osImage": IMAGE, "osExtensionsImage": IMAGE}],
    "defaultStream": "a",
}
_POOL = {
    "poolSynchronizersStatus": [
        {
            "poolSynchronizerType": "PinnedImageSets",
            "machineCount": 1,
            "updatedMachineCount": 1,
            "readyMachineCount": 1,
            "availableMachineCount": 1,
            "unavailableMachineCount": 0,
            "observedGeneration": 1,
        }
    ],
    "osImageStream": {"name": "rhel-9"},
}
_NODE = {"node": {"name": "node-0"}, "pool": {"name": "p"}, "configVersion": {"desired": "d"}}
_PINNED = {
    "pinnedImageSets": [
        {
            "name": "s",
            "currentGeneration": 1,
            "desiredGeneration": 2,
            "lastFailedGeneration": 1,
            "lastFailedGenerationError": "e",
        }
    ]
}

_CONFIGURATION = Kind("MachineConfiguration")
_SKEW = "bootImageSkewEnforcementStatus"

BOUNDS: tuple[Case, ...] = (
    *specs(_CONFIGURATION, {"nodeDisruptionPolicy": _policies()}, _POLICY_SERVICES, "nodeDisruptionPolicy"),
    *statuses(
        _CONFIGURATION,
        {},
        {"nodeDisruptionPolicyStatus": {"clusterPolicies": _policies()}},
        {**_POLICY_SERVICES, "units.0.name": (_SERVICE, too_long(255))},
        "nodeDisruptionPolicyStatus.clusterPolicies",
    ),
    *statuses(
        _CONFIGURATION,
        {"managedBootImages": {}},
        {_SKEW: {"mode": "Automatic", "automatic": _VERSIONS}},
        {
            "ocpVersion": ("4.18.123456", too_long(10)),
            "rhcosVersion": ("9" * 22, too_long(21)),
        },
        f"{_SKEW}.automatic",
    ),
    *statuses(
        _CONFIGURATION,
        {},
        {_SKEW: {"mode": "Manual", "manual": _MANUAL}},
        {"ocpVersion": ("4.18.123456", too_long(10))},
        f"{_SKEW}.manual",
    ),
    *specs(Kind("MachineOSBuild"), _BUILD, {"machineConfig.name": ("x" * 254, too_long(253))}),
    *statuses(
        Kind("MachineOSBuild"),
        _BUILD,
        {"builder": {"imageBuilderType": "Job", "job": _REFERENCE}, "relatedObjects": [_REFERENCE]},
        {
            f"{place}.{field}": wrong
            for place in ("builder.job", "relatedObjects.0")
            for field, wrong in _LONG_REFERENCE.items()
        },
    ),
    *statuses(
        Kind("OSImageStream"),
        {"defaultStream": "a"},
        _STREAMS,
        {"defaultStream": ("x" * 254, too_long(253))},
    ),
    *statuses(
        Kind("MachineConfigPool"),
        {},
        _POOL,
        {
            "osImageStream.name": ("x" * 254, too_long(253)),
            "poolSynchronizersStatus.0.observedGeneration": (-1, at_least(0)),
            "poolSynchronizersStatus.0.poolSynchronizerType": ("x" * 257, too_long(256)),
        },
    ),
    *statuses(
        Kind("MachineConfigNode"),
        _NODE,
        _PINNED,
        {
            f"pinnedImageSets.0.{field}": (0, at_least(1))
            for field in ("currentGeneration", "desiredGeneration", "lastFailedGeneration")
        },
    ),
    *specs(
        Kind("ContainerRuntimeConfig"),
        {"containerRuntimeConfig": {"overlaySize": "8Gi"}},
        {"containerRuntimeConfig.overlaySize": ("8 Gi", "should match")},
    ),
    *statuses(
        Kind("InternalReleaseImage"),
        {"releases": [{"name": "ocp-release-bundle-4.20.0-x"}]},
        {"releases": [{"name": "ocp-release-bundle-4.20.0-x", "image": f"quay.io/a@sha256:{HEX}"}]},
        {"releases.0.name": (f"ocp-release-bundle-4.20.0-{'x' * 40}", too_long(64))},
    ),
)
