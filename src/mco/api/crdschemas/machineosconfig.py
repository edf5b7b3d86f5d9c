"""MachineOSConfig (spec/node.md 1.8)."""

from __future__ import annotations

from mco.api.crdschemas.machineosbuild import BUILDER_TYPES, OBJECT
from mco.api.formats import digest, named, never_decreases, tag
from mco.api.schema import CONDITION, enum, int64, keyed, rule, string, struct

_CONTAINER_FILE = struct(
    {
        "containerfileArch": enum("ARM64", "AMD64", "PPC64LE", "S390X", "NoArch", default="NoArch"),
        "content": string(maxLength=4096),
    },
    required=("content",),
)
_SAME_POOL = "oldSelf.value().spec.machineConfigPool.name == self.spec.machineConfigPool.name"

MACHINE_OS_CONFIG = struct(
    {
        "spec": struct(
            {
                "baseImagePullSecret": named(),
                "containerFile": keyed(["containerfileArch"], _CONTAINER_FILE, minItems=0, maxItems=4),
                "imageBuilder": struct(
                    {"imageBuilderType": enum(*BUILDER_TYPES)}, required=("imageBuilderType",)
                ),
                "machineConfigPool": named(),
                "renderedImagePushSecret": named(),
                "renderedImagePushSpec": tag(),
            },
            required=(
                "imageBuilder",
                "machineConfigPool",
                "renderedImagePushSecret",
                "renderedImagePushSpec",
            ),
        ),
        "status": struct(
            {
                "conditions": keyed(["type"], CONDITION),
                "currentImagePullSpec": digest(),
                "machineOSBuild": OBJECT,
                "observedGeneration": int64(
                    minimum=0, rules=[never_decreases("observedGeneration", "must not move backwards")]
                ),
            }
        ),
    },
    required=("spec",),
    rules=[
        # An object of another name that is older than the rule may change, but not to yet another pool.
        rule(
            f"self.metadata.name == self.spec.machineConfigPool.name || (oldSelf.hasValue() && {_SAME_POOL})",
            "MachineOSConfig name must match the referenced MachineConfigPool name; "
            "can only have one MachineOSConfig per MachineConfigPool",
            optional_old=True,
        )
    ],
)
