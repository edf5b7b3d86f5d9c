"""InternalReleaseImage (spec/node.md 1.12)."""

from __future__ import annotations

from mco.api.formats import digest, named, release_bundle
from mco.api.schema import CONDITION, Schema, keyed, rule, struct


def bundle_statuses(image: Schema) -> Schema:
    """What became of the release bundles, of a cluster or of one node, whose images are like `image`."""
    status = struct(
        {
            "conditions": keyed(["type"], CONDITION, minItems=1, maxItems=5),
            "image": image,
            "name": release_bundle(),
        },
        required=("name",),
    )
    return keyed(["name"], status, minItems=1, maxItems=32)


def _image(conditions: int, *, are_releases_required: bool) -> Schema:
    """The versions differ in how many conditions there may be, and in what a status has to say."""
    return struct(
        {
            "spec": struct(
                {"releases": keyed(["name"], named(release_bundle()), minItems=1, maxItems=16)},
                required=("releases",),
            ),
            "status": struct(
                {
                    "conditions": keyed(["type"], CONDITION, minItems=1, maxItems=conditions),
                    "releases": bundle_statuses(digest()),
                },
                required=("releases",) if are_releases_required else (),
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


INTERNAL_RELEASE_IMAGE = _image(5, are_releases_required=True)
INTERNAL_RELEASE_IMAGE_ALPHA = _image(20, are_releases_required=False)
