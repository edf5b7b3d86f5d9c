"""PinnedImageSet (spec/node.md 1.10)."""

from __future__ import annotations

from mco.api.formats import digest, named
from mco.api.schema import keyed, struct

PINNED_IMAGE_SET = struct(
    {
        "spec": struct(
            {"pinnedImages": keyed(["name"], named(digest()), minItems=1, maxItems=500)},
            required=("pinnedImages",),
        )
    },
    required=("spec",),
)
