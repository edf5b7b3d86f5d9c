"""Whether a new registries.conf can only help running pods, so that no drain is needed (spec/daemon.md
6.7)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from mco.base.errors import InvalidInput
from mco.ignition import dataurl
from mco.ignition.types import File

_PATH = "/etc/containers/registries.conf"
_Table = dict[str, Any]


def risk(old: File | None, new: File | None) -> str:
    """What makes the change from `old` to `new` unsafe for running pods, or nothing. A missing file is an
    empty one. Raises InvalidInput when a side is not TOML."""
    before, after = _parse(old), _parse(new)
    return next(_risks(before, after), "")


def _parse(file: File | None) -> _Table:
    if file is None or not file.contents.source:
        return {}
    data = dataurl.decode(file.contents.source, file.contents.compression)
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{_PATH} is not valid TOML: {error}", path=_PATH, hint="correct the MachineConfig that writes it"
        ) from error


def _risks(before: _Table, after: _Table) -> Iterator[str]:
    key = "unqualified-search-registries"
    searched, searching = _strings(before.get(key)), _strings(after.get(key))
    if searching[: len(searched)] != searched:
        yield f"{key} is more than appended to"
    known, wanted = _by_key(before), _by_key(after)
    for name, old in known.items():
        if name not in wanted:
            yield f"registry {name} is removed"
        elif wanted[name] != old:
            yield from _changed(name, old, wanted[name])
    for name in (n for n in wanted if n not in known):
        yield from _added(name, wanted[name])


def _changed(name: str, old: _Table, new: _Table) -> Iterator[str]:
    for field in ("prefix", "location", "blocked", "insecure"):
        if (old.get(field) or None) != (new.get(field) or None):
            yield f"{field} of registry {name} changes"
    before, after = _mirrors(old), _mirrors(new)
    for location, pull in before.items():
        if location not in after:
            yield f"mirror {location} of registry {name} is removed"
        elif after[location] not in (pull, "digest-only"):
            yield f"mirror {location} of registry {name} is pulled from by more than digests"
    for location, pull in after.items():
        if location not in before and pull != "digest-only" and not new.get("mirror-by-digest-only"):
            yield f"mirror {location} of registry {name} is added for more than digests"


def _added(name: str, new: _Table) -> Iterator[str]:
    mirrors = _mirrors(new)
    digests = (
        all(pull == "digest-only" for pull in mirrors.values())
        if mirrors
        else bool(new.get("mirror-by-digest-only"))
    )
    if not digests:
        yield f"registry {name} is added for more than digests"


def _by_key(table: _Table) -> dict[str, _Table]:
    entries = [entry for entry in table.get("registry") or [] if isinstance(entry, dict)]
    return {str(entry.get("prefix") or entry.get("location") or ""): entry for entry in entries}


def _mirrors(registry: _Table) -> dict[str, str]:
    entries = [entry for entry in registry.get("mirror") or [] if isinstance(entry, dict)]
    return {str(e.get("location") or ""): str(e.get("pull-from-mirror") or "") for e in entries}


def _strings(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
