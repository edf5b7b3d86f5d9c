"""InternalReleaseImage (spec/node.md 1.12)."""

from __future__ import annotations

from mco.api.formats import named, release_bundle, release_digest
from mco.api.schema import CONDITION, Schema, keyed, rule, struct

_BUNDLE_STATUS = struct(
    {
        "conditions": keyed(["type"], CONDITION, minItems=1, maxItems=5),
        "image": release_digest(),
        "name": release_bundle(),
    },
    required=("name",),
)


def bundle_statuses() -> Schema:
    """What became of the release bundles, of a cluster or of one node."""
    return keyed(["name"], _BUNDLE_STATUS, minItems=1, maxItems=32)


def _image(conditions: int) -> Schema:
    """The versions differ in how many conditions there may be."""
    return struct(
        {
            "spec": struct(
                {"releases": keyed(["name"], named(release_bundle()), minItems=1, maxItems=16)},
                required=("releases",),
            ),
            "status": struct(
                {
                    "conditions": keyed(["type"], CONDITION, minItems=1, maxItems=conditions),
                    "releases": bundle_statuses(),
                },
                required=("releases",),
            ),
        },
        required=("metadata", "spec"),
        rules=[
            rule(
                "self.metadata.name == 'cluster'",
                "internalreleaseimage is a singleton, .metadata.name must be 'cluster'",
            )
        ],
    )


INTERNAL_RELEASE_IMAGE = _image(5)
INTERNAL_RELEASE_IMAGE_ALPHA = _image(20)
