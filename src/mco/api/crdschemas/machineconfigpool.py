"""MachineConfigPool (spec/node.md 1.3)."""

from __future__ import annotations

from mco.api.schema import (
    LABEL_SELECTOR,
    OBJECT_REFERENCE,
    atomic,
    boolean,
    enum,
    int32,
    int64,
    int_or_string,
    keyed,
    string,
    struct,
    timestamp,
)

_CONFIGURATION = struct(
    {**OBJECT_REFERENCE["properties"], "source": atomic(OBJECT_REFERENCE)},
    **{"x-kubernetes-map-type": "atomic"},
)
_STREAM = struct({"name": string(minLength=1, maxLength=253)}, required=("name",))
_CONDITION = struct(
    {
        "lastTransitionTime": timestamp(nullable=True),
        "message": string(),
        "reason": string(),
        "status": string(),
        "type": string(),
    }
)
_COUNTS = (
    "machineCount",
    "updatedMachineCount",
    "readyMachineCount",
    "availableMachineCount",
    "unavailableMachineCount",
)
_SYNCHRONIZER = struct(
    {
        "poolSynchronizerType": enum("PinnedImageSets", maxLength=256),
        **{name: int64(minimum=0) for name in _COUNTS},
        "observedGeneration": int64(minimum=0),
    },
    required=("poolSynchronizerType", *_COUNTS),
)

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
                "pinnedImageSets": keyed(
                    ["name"],
                    struct(
                        {
                            "name": string(
                                minLength=1,
                                maxLength=253,
                                pattern=r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
                            )
                        },
                        required=("name",),
                    ),
                    maxItems=100,
                ),
            }
        ),
        "status": struct(
            {
                "certExpirys": atomic(
                    struct(
                        {"bundle": string(), "expiry": timestamp(), "subject": string()},
                        required=("bundle", "subject"),
                    )
                ),
                "conditions": atomic(_CONDITION),
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
