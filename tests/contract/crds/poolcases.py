"""MachineConfig and MachineConfigPool (spec/node.md 1.2, 1.3, 12.12)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.cases import Body, Kind
from tests.contract.crds.formatcases import SUBDOMAINS, Table, created

_CONFIG = Kind("MachineConfig")
_POOL = Kind("MachineConfigPool")

_IGNITION = {"ignition": {"version": "3.5.0"}, "storage": {"files": [{"path": "/etc/a", "mode": 420}]}}

CONFIGS = (
    _CONFIG.accepted("an object without a spec", None),
    _CONFIG.accepted("an empty spec", {}),
    _CONFIG.accepted("any Ignition config", {"config": _IGNITION}, spec__config=_IGNITION),
    _CONFIG.accepted("unknown Ignition fields", {"config": {"a": {"b": [1]}}}, spec__config__a__b__0=1),
    _CONFIG.accepted("kernel arguments that are null", {"kernelArguments": None}),
    _CONFIG.accepted("the same extension twice", {"extensions": ["usbguard", "usbguard"]}),
    _CONFIG.accepted("any kernel type", {"kernelType": "of my own"}),
    _CONFIG.accepted("unknown fields, which are dropped", {"fips": True, "more": 1}, spec__more=None),
    _CONFIG.refused("a config that is text", {"config": "x"}, "must be of type object", "spec.config"),
    _CONFIG.refused("FIPS as text", {"fips": "true"}, "must be of type boolean", "spec.fips"),
    _CONFIG.refused(
        "kernel arguments as one text",
        {"kernelArguments": "a=b"},
        "must be of type array",
        "spec.kernelArguments",
    ),
    _CONFIG.refused("extensions that are null", {"extensions": [None]}, "must be of type string"),
)


def _stream(name: Any) -> Body:
    return {"osImageStream": {"name": name}}


def _pinned(*names: str) -> Body:
    return {"pinnedImageSets": [{"name": name} for name in names]}


_PINNED: Table = {
    "label": ("one", ""),
    "upper case": ("One.Two", ""),
    "longest label": ("x" * 63, ""),
    "label of 64": ("x" * 64, "should match"),
    "underscore": ("a_b", "should match"),
    "dash at the end": ("a-", "should match"),
    "two dots": ("a..b", "should match"),
    "empty": ("", "should be at least 1 chars long"),
    "too long": (".".join(["x" * 63] * 4), "Too long: may not be more than 253 bytes"),
}

_COUNTS = {
    "machineCount": 3,
    "updatedMachineCount": 3,
    "readyMachineCount": 3,
    "availableMachineCount": 3,
    "unavailableMachineCount": 0,
}


def _synchronizers(**more: Any) -> Body:
    one = {"poolSynchronizerType": "PinnedImageSets", **_COUNTS, **more}
    return {"poolSynchronizersStatus": [{name: value for name, value in one.items() if value is not None}]}


_ONE = "status.poolSynchronizersStatus[0]"
_MORE = "must be greater than or equal to"

POOLS = (
    _POOL.refused("no spec", None, "Required value", "spec"),
    _POOL.accepted("an empty spec", {}),
    _POOL.accepted("maxUnavailable as a number", {"maxUnavailable": 2}, spec__maxUnavailable=2),
    _POOL.accepted("maxUnavailable as a share", {"maxUnavailable": "10%"}, spec__maxUnavailable="10%"),
    _POOL.refused(
        "maxUnavailable as a list", {"maxUnavailable": [1]}, "must be of type", "spec.maxUnavailable"
    ),
    _POOL.refused("paused as text", {"paused": "yes"}, "must be of type boolean", "spec.paused"),
    _POOL.refused(
        "a selector without an operator",
        {"nodeSelector": {"matchExpressions": [{"key": "a"}]}},
        "Required value",
        "spec.nodeSelector.matchExpressions[0].operator",
    ),
    _POOL.accepted(
        "a configuration with its sources",
        {
            "configuration": {
                "name": "rendered-worker-1",
                "source": [{"name": "00-worker"}, {"name": "00-worker"}],
            }
        },
    ),
    *created(_POOL, "pinned image set", _PINNED, lambda n: _pinned(n), "spec.pinnedImageSets[0].name"),
    _POOL.refused(
        "a pinned image set twice", _pinned("a", "a"), "Duplicate value", "spec.pinnedImageSets[1]"
    ),
    _POOL.accepted("a hundred pinned image sets", _pinned(*(f"s{n}" for n in range(100)))),
    _POOL.refused(
        "101 pinned image sets",
        _pinned(*(f"s{n}" for n in range(101))),
        "must have at most 100 items",
        "spec.pinnedImageSets",
    ),
    *created(_POOL, "stream", SUBDOMAINS, _stream, "spec.osImageStream.name"),
    _POOL.refused(
        "an empty stream", _stream(""), "should be at least 1 chars long", "spec.osImageStream.name"
    ),
    _POOL.refused(
        "a stream without a name", {"osImageStream": {}}, "Required value", "spec.osImageStream.name"
    ),
    _POOL.update("a stream is added", {}, _stream("rhel-10")),
    _POOL.update("a stream is removed", _stream("rhel-10"), {}),
    _POOL.update("a stream is changed", _stream("rhel-10"), _stream("rhel-9")),
    _POOL.status("an empty status", {}, {}),
    _POOL.status("conditions without anything", {}, {"conditions": [{}, {}]}),
    _POOL.status("a transition time that is null", {}, {"conditions": [{"lastTransitionTime": None}]}),
    _POOL.status(
        "an expiry without a bundle",
        {},
        {"certExpirys": [{"subject": "s"}]},
        "Required value",
        "status.certExpirys[0].bundle",
    ),
    _POOL.status("synchronizer", {}, _synchronizers()),
    _POOL.status(
        "another synchronizer",
        {},
        _synchronizers(poolSynchronizerType="Other"),
        "Unsupported value",
        f"{_ONE}.poolSynchronizerType",
    ),
    *(
        _POOL.status(f"a synchronizer without {name}", {}, _synchronizers(**{name: None}), "Required value")
        for name in _COUNTS
    ),
    *(
        _POOL.status(
            f"a synchronizer with a negative {name}",
            {},
            _synchronizers(**{name: -1}),
            "should be greater than or equal to 0",
            f"{_ONE}.{name}",
        )
        for name in _COUNTS
    ),
    _POOL.status(
        "more updated machines than machines",
        {},
        _synchronizers(updatedMachineCount=4),
        f"machineCount {_MORE} updatedMachineCount",
        _ONE,
    ),
    _POOL.status(
        "more available machines than machines",
        {},
        _synchronizers(availableMachineCount=4),
        f"machineCount {_MORE} availableMachineCount",
        _ONE,
    ),
    _POOL.status(
        "more unavailable machines than machines",
        {},
        _synchronizers(unavailableMachineCount=4),
        f"machineCount {_MORE} unavailableMachineCount",
        _ONE,
    ),
    _POOL.status(
        "more ready machines than machines",
        {},
        _synchronizers(readyMachineCount=4, availableMachineCount=4),
        f"machineCount {_MORE} readyMachineCount",
        _ONE,
    ),
    _POOL.status(
        "more ready machines than available ones",
        {},
        _synchronizers(readyMachineCount=3, availableMachineCount=2),
        f"availableMachineCount {_MORE} readyMachineCount",
        _ONE,
    ),
)
