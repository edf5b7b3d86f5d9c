"""Whether a new registries.conf can only help running pods, so that no drain is needed (spec/daemon.md
6.7)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping

import msgspec

from mco.base.errors import InvalidInput
from mco.ignition import dataurl
from mco.ignition.types import File
from mco.plan.node.policies import REGISTRIES_CONF

_DIGEST_ONLY = "digest-only"


class _Mirror(msgspec.Struct, frozen=True, rename="kebab"):
    location: str = ""
    insecure: bool = False
    pull_from_mirror: str = ""


class _Registry(msgspec.Struct, frozen=True, rename="kebab"):
    prefix: str = ""
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    mirror_by_digest_only: bool = False
    mirror: tuple[_Mirror, ...] = ()


class _Registries(msgspec.Struct, frozen=True, rename="kebab"):
    unqualified_search_registries: tuple[str, ...] = ()
    registry: tuple[_Registry, ...] = ()

    @property
    def by_scope(self) -> Mapping[str, _Registry]:
        return {entry.prefix or entry.location: entry for entry in self.registry}


def risk(old: File | None, new: File | None) -> str:
    """What makes the change from `old` to `new` unsafe for running pods, or nothing. A missing file is an
    empty one. Raises InvalidInput when a side is not TOML of this form."""
    before, after = _parse(old), _parse(new)
    return next(_risks(before, after), "")


def _parse(file: File | None) -> _Registries:
    if file is None or not file.contents.source:
        return _Registries()
    data = dataurl.decode(file.contents.source, file.contents.compression)
    try:
        return msgspec.convert(tomllib.loads(data.decode()), type=_Registries)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(
            f"failed decoding TOML content from file {REGISTRIES_CONF}: {error}",
            path=REGISTRIES_CONF,
            hint="correct the MachineConfig that writes it",
        ) from error


def _risks(before: _Registries, after: _Registries) -> Iterator[str]:
    searched = before.unqualified_search_registries
    if after.unqualified_search_registries[: len(searched)] != searched:
        yield "unqualified-search-registries is more than appended to"
    known, wanted = before.by_scope, after.by_scope
    for scope, old in known.items():
        if scope not in wanted:
            yield f"registry {scope} is removed"
        elif wanted[scope] != old:
            yield from _changed(scope, old, wanted[scope])
    for scope in (scope for scope in wanted if scope not in known):
        if not _by_digest_only(wanted[scope]):
            yield f"registry {scope} is added for more than digests"


def _changed(scope: str, old: _Registry, new: _Registry) -> Iterator[str]:
    for field in ("prefix", "location", "blocked", "insecure"):
        if getattr(old, field) != getattr(new, field):
            yield f"{field} of registry {scope} changes"
    before, after = _pulls(old), _pulls(new)
    for location in (location for location in before if location not in after):
        yield f"mirror {location} of registry {scope} is removed"
    for mirror in new.mirror:
        if mirror.pull_from_mirror == _DIGEST_ONLY:
            continue
        if mirror.location not in before:
            if not new.mirror_by_digest_only:
                yield f"mirror {mirror.location} of registry {scope} is added for more than digests"
        elif mirror.pull_from_mirror != before[mirror.location]:
            yield f"mirror {mirror.location} of registry {scope} is pulled from by more than digests"


def _pulls(registry: _Registry) -> Mapping[str, str]:
    """How each mirror is pulled from; of mirrors of one location the first counts."""
    return {mirror.location: mirror.pull_from_mirror for mirror in reversed(registry.mirror)}


def _by_digest_only(registry: _Registry) -> bool:
    if not registry.mirror:
        return registry.mirror_by_digest_only
    return all(mirror.pull_from_mirror == _DIGEST_ONLY for mirror in registry.mirror)
