"""MachineOSBuild (spec/node.md 1.9)."""

from __future__ import annotations

from mco.api.formats import digest, label, named, only_with, service_label, subdomain, tag
from mco.api.schema import CONDITION, Rule, Schema, keyed, rule, string, struct, timestamp

BUILDER_TYPES = ("Job",)

OBJECT = struct(
    {
        "group": subdomain(),
        "name": subdomain(minLength=1),
        "namespace": label(),
        "resource": service_label(),
    },
    required=("group", "name", "resource"),
)
"""A reference to any object, by its resource."""


def _frozen_after(condition: str, article: str) -> Rule:
    ended = f"oldSelf.exists(x, x.type=='{condition}' && x.status=='True')"
    text = f"once {article} {condition} condition is set, conditions are immutable"
    return rule(f"{ended} ? self==oldSelf : true", text)


def _fixed(field: str) -> Rule:
    return rule("self == oldSelf", f"{field} is immutable once set")


def _time(field: str) -> Schema:
    return timestamp(rules=[_fixed(field)])


_CONDITIONS = keyed(
    ["type"],
    CONDITION,
    maxItems=8,
    rules=[
        _frozen_after("Failed", "a"),
        _frozen_after("Interrupted", "an"),
        _frozen_after("Succeeded", "an"),  # the original's article
    ],
)
_BUILDER = struct(
    {"imageBuilderType": string(), "job": OBJECT},
    required=("imageBuilderType",),
    rules=[only_with("job", "imageBuilderType", "Job")],
)

MACHINE_OS_BUILD = struct(
    {
        "spec": struct(
            {
                "machineConfig": named(subdomain(minLength=10)),
                "machineOSConfig": named(subdomain(minLength=1)),
                "renderedImagePushSpec": tag(),
            },
            required=("machineConfig", "machineOSConfig", "renderedImagePushSpec"),
            rules=[_fixed("machineOSBuildSpec")],
        ),
        "status": struct(
            {
                "buildEnd": _time("buildEnd"),
                "buildStart": _time("buildStart"),
                "builder": _BUILDER,
                "conditions": _CONDITIONS,
                "digestedImagePushSpec": digest(),
                "relatedObjects": keyed(["name", "resource"], OBJECT, maxItems=10),
            },
            rules=[
                rule(
                    "has(self.buildEnd) ? has(self.buildStart) && "
                    "timestamp(self.buildStart) < timestamp(self.buildEnd) : true",
                    "buildEnd must be after buildStart",
                )
            ],
        ),
    },
    required=("spec",),
)
