"""Semantic versions of the Kubernetes CEL library."""

from __future__ import annotations

import re

from mco.apiserver.cel.values import Opaque

SEMVER = "kubernetes.Semver"

_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+\Z", re.ASCII)


def semver(text: str, tolerant: bool = False) -> Opaque:
    """`tolerant`: with a `v` before, zeros in front, or without the last numbers. Versions that differ in
    their build only are equal. Raises ValueError with what is wrong."""
    given = _normalized(text) if tolerant else text
    if not given:
        raise ValueError("Version string empty")
    parts = given.split(".", 2)
    if len(parts) < 3:
        raise ValueError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    rest, dash, before = rest.partition("-")
    numbers = tuple(
        _number(part, name)
        for part, name in zip((*parts[:2], rest), ("Major", "Minor", "Patch"), strict=True)
    )
    early = tuple(map(_early, before.split("."))) if dash else ()
    for part in build.split(".") if plus else ():
        if not part:
            raise ValueError("Build meta data is empty")
        if not _IDENTIFIER.match(part):
            raise ValueError(f'Invalid character(s) found in build meta data "{part}"')
    return Opaque(SEMVER, (*numbers, not dash, early), given)


def _number(part: str, name: str) -> int:
    if not part.isascii() or not part.isdigit():
        raise ValueError(f'Invalid character(s) found in {name.lower()} number "{part}"')
    if len(part) > 1 and part.startswith("0"):
        raise ValueError(f'{name} number must not contain leading zeroes "{part}"')
    return int(part)


def _early(part: str) -> tuple[int, int, str]:
    """Of a pre-release: numbers come before words."""
    if not part:
        raise ValueError("Prerelease is empty")
    if not _IDENTIFIER.match(part):
        raise ValueError(f'Invalid character(s) found in prerelease "{part}"')
    if not part.isdigit():
        return 1, 0, part
    if len(part) > 1 and part.startswith("0"):
        raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
    return 0, int(part), ""


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise ValueError("Short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0") if len(part) > 1 else part
    return stripped if stripped[:1].isdigit() or len(part) <= 1 else f"0{stripped}"


def is_semver(text: str, tolerant: bool = False) -> bool:
    try:
        semver(text, tolerant)
    except ValueError:
        return False
    return True


def major(value: Opaque) -> int:
    return int(value.content[0])


def minor(value: Opaque) -> int:
    return int(value.content[1])


def patch(value: Opaque) -> int:
    return int(value.content[2])
