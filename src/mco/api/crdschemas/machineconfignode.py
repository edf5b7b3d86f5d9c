"""MachineConfigNode (spec/node.md 1.7)."""

from __future__ import annotations

from mco.api.schema import CONDITION, Schema, int32, int64, keyed, string, struct

_NAME = string(minLength=1, maxLength=253)
_DIGEST = string(minLength=1, maxLength=447)
_REFERENCE = struct({"name": _NAME}, required=("name",))


def _versions(*names: str) -> Schema:
    return {name: string(maxLength=253) for name in names}


_GENERATION = int32(minimum=1)
_PINNED = struct(
    {
        "currentGeneration": _GENERATION,
        "desiredGeneration": _GENERATION,
        "lastFailedGeneration": _GENERATION,
        "lastFailedGenerationError": string(maxLength=32768),
        "name": _NAME,
    },
    required=("name",),
)
_IRRECONCILABLE = struct(
    {
        "diff": string(minLength=1, maxLength=4096),
        "fieldPath": string(minLength=1, maxLength=70, pattern=r"^spec\.[A-Za-z0-9.\[\]]*$"),
    },
    required=("diff", "fieldPath"),
)
_RELEASE = struct(
    {
        "conditions": keyed(["type"], CONDITION, minItems=1, maxItems=5),
        "image": _DIGEST,
        "name": string(
            minLength=1,
            maxLength=64,
            pattern=r"^ocp-release-bundle-[0-9]+\.[0-9]+\.[0-9]+-[A-Za-z0-9._-]+$",
        ),
    },
    required=("name",),
)

MACHINE_CONFIG_NODE = struct(
    {
        "spec": struct(
            {
                "configImage": struct({"desiredImage": _DIGEST}, required=("desiredImage",)),
                "configVersion": struct(
                    {"desired": string(minLength=1, maxLength=253)}, required=("desired",)
                ),
                "node": _REFERENCE,
                "pool": _REFERENCE,
            },
            required=("configVersion", "node", "pool"),
        ),
        "status": struct(
            {
                "conditions": keyed(["type"], CONDITION, maxItems=20),
                "configImage": struct({"currentImage": _DIGEST, "desiredImage": _DIGEST}, minProperties=1),
                "configVersion": struct(_versions("current", "desired"), required=("desired",)),
                "internalReleaseImage": struct(
                    {"releases": keyed(["name"], _RELEASE, minItems=1, maxItems=32)}
                ),
                "irreconcilableChanges": keyed(["fieldPath"], _IRRECONCILABLE, minItems=1, maxItems=32),
                "observedGeneration": int64(minimum=1),
                "pinnedImageSets": keyed(["name"], _PINNED, maxItems=100),
            }
        ),
    },
    required=("spec",),
)
