"""The Accept header of a first boot to the Ignition version that is served (spec/operator.md 3.3).

The first entry that names Ignition with a version decides, even if a later one would fit; a client that names
none gets 2.2.0, which is what old machines and a plain `curl` expect. The User-Agent never matters.
"""

from __future__ import annotations

import math
import re

import msgspec

from mco.base.errors import InvalidInput

OLDEST = "2.2.0"
NEWEST = "3.5.0"
SERVED = (OLDEST, "3.1.0", "3.2.0", "3.3.0", "3.4.0", NEWEST)
_SUBTYPE = "vnd.coreos.ignition+json"
_SEMVER = re.compile(
    r"(\d+)\.(\d+)\.(\d+)"
    r"(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class MediaRange(msgspec.Struct, frozen=True):
    """One entry of the header. `version` is (major, minor, patch) or None."""

    type: str
    subtype: str
    version: tuple[int, int, int] | None = None
    quality: float = 1.0


def media_ranges(accept: str) -> tuple[MediaRange, ...]:
    """The entries of an Accept header, best first, equal ones in their order; unusable ones are left out."""
    entries = (_media_range(entry) for entry in accept.split(","))
    return tuple(sorted((entry for entry in entries if entry), key=lambda entry: -entry.quality))


def negotiate(accept: str) -> str:
    """The version to serve, one of `SERVED`.

    Raises InvalidInput if the client asks for a version that cannot be served: 1.x, 2.0, 2.1, 4.x, and also
    3.0, which the original accepts and then fails to convert (spec/operator.md 9)."""
    for entry in media_ranges(accept):
        if entry.subtype == _SUBTYPE and entry.version:
            return _served(entry.version)
    return OLDEST


def _served(version: tuple[int, int, int]) -> str:
    major, minor, _ = version
    if major == 2 and minor >= 2:
        return OLDEST
    if major == 3 and minor >= 1:
        return f"3.{min(minor, 5)}.0"
    raise InvalidInput(
        f"Ignition version {'.'.join(map(str, version))} cannot be served",
        path="Accept",
        hint=f"ask for one of {', '.join(SERVED)}",
    )


def _media_range(entry: str) -> MediaRange | None:
    name, *parameters = entry.split(";")
    type_, slash, subtype = name.strip().partition("/")
    if not slash:
        return None
    pairs = [(key.strip(), value.strip()) for key, _, value in (p.partition("=") for p in parameters)]
    versions = (_SEMVER.fullmatch(value) for key, value in pairs if key == "version")
    qualities = (_FLOAT.fullmatch(value) for key, value in pairs if key == "q")
    version = next(filter(None, versions), None)
    quality = next(filter(None, qualities), None)
    return MediaRange(
        type_,
        subtype,
        (int(version[1]), int(version[2]), int(version[3])) if version else None,
        _finite(float(quality[0])) if quality else 1.0,
    )


def _finite(quality: float) -> float:
    return quality if math.isfinite(quality) else 0.0
