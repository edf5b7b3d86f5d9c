"""MachineConfigNode (spec/node.md 1.7)."""

from __future__ import annotations

from mco.api.crdschemas.internalreleaseimage import bundle_statuses
from mco.api.formats import digest, named, never_decreases, release_digest, subdomain
from mco.api.gates import IMAGE_MODE_STATUS, IRRECONCILABLE, NO_REGISTRY
from mco.api.schema import CONDITION, Rule, Schema, int32, int64, keyed, rule, string, struct
from mco.api.variants import gated


def _generation(field: str) -> Schema:
    return int32(minimum=1, rules=[never_decreases(field)])


def _ordered(less: str, text: str) -> Rule:
    """Of two generations that are there, the desired one is not behind."""
    both = f"has(self.desiredGeneration) && has(self.{less})"
    message = f"desired generation must be greater than or equal to the {text}"
    return rule(f"{both} ? self.desiredGeneration >= self.{less} : true", message)


_PINNED = struct(
    {
        "currentGeneration": _generation("currentGeneration"),
        "desiredGeneration": _generation("desiredGeneration"),
        "lastFailedGeneration": _generation("lastFailedGeneration"),
        "lastFailedGenerationError": string(maxLength=32768),
        "name": subdomain(),
    },
    required=("name",),
    rules=[
        _ordered("currentGeneration", "current generation"),
        _ordered("lastFailedGeneration", "last failed generation"),
        rule(
            "has(self.lastFailedGeneration) ? has(self.lastFailedGenerationError) : true",
            "last failed generation error must be defined on image pull and pin failure",
        ),
    ],
)
_IRRECONCILABLE = struct(
    {
        "diff": string(minLength=1, maxLength=4096),
        "fieldPath": string(
            minLength=1,
            maxLength=70,
            rules=[
                rule("self.startsWith('spec.')", "The fieldPath must start with `spec.`"),
                rule(
                    "self.matches('^[\\\\da-zA-Z\\\\.\\\\[\\\\]]+$')",
                    "The fieldPath must consist only of alphanumeric characters, brackets [] and dots ('.').",
                ),
            ],
        ),
    },
    required=("diff", "fieldPath"),
)

MACHINE_CONFIG_NODE = struct(
    {
        "spec": struct(
            {
                "configImage": gated(
                    IMAGE_MODE_STATUS, struct({"desiredImage": digest()}, required=("desiredImage",))
                ),
                "configVersion": struct({"desired": subdomain()}, required=("desired",)),
                "node": named(),
                "pool": named(),
            },
            required=("configVersion", "node", "pool"),
        ),
        "status": struct(
            {
                "conditions": keyed(["type"], CONDITION, maxItems=20),
                "configImage": gated(
                    IMAGE_MODE_STATUS,
                    struct({"currentImage": digest(), "desiredImage": digest()}, minProperties=1),
                ),
                "configVersion": struct(
                    {"current": subdomain(), "desired": subdomain()}, required=("desired",)
                ),
                "internalReleaseImage": gated(
                    NO_REGISTRY,
                    struct({"releases": bundle_statuses(release_digest())}, required=("releases",)),
                ),
                "irreconcilableChanges": gated(
                    IRRECONCILABLE, keyed(["fieldPath"], _IRRECONCILABLE, minItems=1, maxItems=32)
                ),
                "observedGeneration": int64(minimum=1, rules=[never_decreases("observedGeneration")]),
                "pinnedImageSets": keyed(["name"], _PINNED, maxItems=100),
            }
        ),
    },
    required=("spec",),
    rules=[rule("self.metadata.name == self.spec.node.name", "spec.node.name should match metadata.name")],
)
