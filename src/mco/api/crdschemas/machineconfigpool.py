"""MachineConfigPool (spec/node.md 1.3)."""

from __future__ import annotations

from mco.api.formats import dotted_labels, named, stream_name
from mco.api.gates import OS_STREAMS
from mco.api.schema import (
    LABEL_SELECTOR,
    LOOSE_CONDITION,
    OBJECT_REFERENCE,
    Rule,
    atomic,
    boolean,
    enum,
    int32,
    int64,
    int_or_string,
    keyed,
    rule,
    string,
    struct,
    timestamp,
)
from mco.api.variants import gated

_CONFIGURATION = struct(
    {**OBJECT_REFERENCE["properties"], "source": atomic(OBJECT_REFERENCE)},
    map_type="atomic",
)
_STREAM = gated(OS_STREAMS, named(stream_name()))
_COUNTS = (
    "machineCount",
    "updatedMachineCount",
    "readyMachineCount",
    "availableMachineCount",
    "unavailableMachineCount",
)


def _at_least(more: str, less: str) -> Rule:
    return rule(f"self.{more} >= self.{less}", f"{more} must be greater than or equal to {less}")


_SYNCHRONIZER = struct(
    {
        "poolSynchronizerType": enum("PinnedImageSets", maxLength=256),
        **{name: int64(minimum=0) for name in _COUNTS},
        "observedGeneration": int64(
            minimum=0,
            rules=[
                rule(
                    "self >= oldSelf || (self == 0 && oldSelf > 0)",
                    "observedGeneration must not move backwards except to zero",
                )
            ],
        ),
    },
    required=("poolSynchronizerType", *_COUNTS),
    rules=[
        _at_least("machineCount", "updatedMachineCount"),
        _at_least("machineCount", "availableMachineCount"),
        _at_least("machineCount", "unavailableMachineCount"),
        _at_least("machineCount", "readyMachineCount"),
        _at_least("availableMachineCount", "readyMachineCount"),
    ],
)
_EXPIRY = struct(
    {"bundle": string(), "expiry": timestamp(), "subject": string()},
    required=("bundle", "subject"),
)
# Not the original's: which rendered configs of the pool must stay. A cluster with the original's schema drops
# it, and nothing depends on it.
_ACTIVE = keyed(["name"], struct({"name": string(), "reasons": atomic(string())}, required=("name",)))

MACHINE_CONFIG_POOL = struct(
    {
        "spec": struct(
            {
                "configuration": _CONFIGURATION,
                "machineConfigSelector": LABEL_SELECTOR,
                "maxUnavailable": int_or_string(),
                "nodeSelector": LABEL_SELECTOR,
                "osImageStream": _STREAM,
                "paused": boolean(),
                "pinnedImageSets": keyed(["name"], named(dotted_labels()), maxItems=100),
            }
        ),
        "status": struct(
            {
                "activeConfigurations": _ACTIVE,
                "certExpirys": atomic(_EXPIRY),
                "conditions": atomic(LOOSE_CONDITION),
                "configuration": _CONFIGURATION,
                "degradedMachineCount": int32(),
                "machineCount": int32(),
                "observedGeneration": int64(),
                "osImageStream": _STREAM,
                "poolSynchronizersStatus": keyed(["poolSynchronizerType"], _SYNCHRONIZER),
                "readyMachineCount": int32(),
                "unavailableMachineCount": int32(),
                "updatedMachineCount": int32(),
            }
        ),
    },
    required=("spec",),
)
