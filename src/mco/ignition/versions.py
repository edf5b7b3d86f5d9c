"""Versions of the Ignition spec: which are accepted, how their texts are read."""

from __future__ import annotations

import re
from typing import NamedTuple

SUPPORTED = ("2.2", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5")
"""Minor versions that are accepted, as the original lists them; 2.0 and 2.1 are read as 2.2."""

SUPPORTED_TEXT = ",".join(SUPPORTED)

_PARTS = re.compile(r"(\d+)\.(\d+)\.(\d+)", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9A-Za-z.-]*", re.ASCII)
_INT64 = 1 << 63


class Version(NamedTuple):
    """A semantic version; `extra` is its pre-release and build metadata."""

    major: int
    minor: int
    patch: int
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{self.extra}"


def parse_version(text: str) -> Version | None:
    """Reads a version as the original's library does (leading zeros pass, `3.5` does not); None: not a
    version."""
    release, _, metadata = text.partition("+")
    numbers, _, prerelease = release.partition("-")
    match = _PARTS.fullmatch(numbers)
    if match is None or not _IDENTIFIER.fullmatch(metadata) or not _IDENTIFIER.fullmatch(prerelease):
        return None
    major, minor, patch = (int(part) for part in match.groups())
    if max(major, minor, patch) >= _INT64:
        return None
    extra = ("-" + prerelease if prerelease else "") + ("+" + metadata if metadata else "")
    return Version(major, minor, patch, extra)


def is_spec3(version: Version) -> bool:
    """Whether a 3.x parser takes the document: 3.0.0 to 3.5.0, nothing else."""
    return version.major == 3 and version.minor <= 5 and version.patch == 0 and not version.extra


def is_spec2(version: Version) -> bool:
    """Whether the 2.x parser takes the document: 2.0.0, 2.1.0 or 2.2.0."""
    return version.major == 2 and version.minor <= 2 and version.patch == 0 and not version.extra
