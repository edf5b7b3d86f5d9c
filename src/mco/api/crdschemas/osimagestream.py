"""OSImageStream (spec/node.md 1.11)."""

from __future__ import annotations

from mco.api.formats import digest, stream_name
from mco.api.schema import Schema, keyed, rule, struct

_STREAM = struct(
    {"name": stream_name(), "osExtensionsImage": digest(), "osImage": digest()},
    required=("name", "osExtensionsImage", "osImage"),
)
_AVAILABLE = "availableStreams.map(s, s.name)"
_STATUS = struct(
    {
        "availableStreams": keyed(["name"], _STREAM, minItems=1, maxItems=100),
        "defaultStream": stream_name(),
    },
    required=("availableStreams", "defaultStream"),
    rules=[
        rule(
            f"self.defaultStream in self.{_AVAILABLE}",
            "defaultStream must reference a stream name from availableStreams",
        )
    ],
)


def _stream(*, is_default_required: bool) -> Schema:
    """A spec that names a stream which is gone may stay as it is; a new one has to exist."""
    unless = "" if is_default_required else "!has(self.spec.defaultStream) || "
    return struct(
        {
            "spec": struct(
                {"defaultStream": stream_name()}, required=("defaultStream",) if is_default_required else ()
            ),
            "status": _STATUS,
        },
        required=("spec",),
        rules=[
            rule(
                "self.metadata.name == 'cluster'",
                "osimagestream is a singleton, .metadata.name must be 'cluster'",
            ),
            rule(
                f"self.spec == oldSelf.spec || {unless}!has(self.status) || "
                f"self.spec.defaultStream in self.status.{_AVAILABLE}",
                "spec.defaultStream must reference an existing stream name from status.availableStreams",
            ),
        ],
    )


OS_IMAGE_STREAM = _stream(is_default_required=True)
OS_IMAGE_STREAM_ALPHA = _stream(is_default_required=False)
