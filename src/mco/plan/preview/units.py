"""Changed units with their drop-ins, for people and scripts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mco.ignition.types import Unit
from mco.plan.node import diff
from mco.plan.node.actions import dropin_path, unit_path
from mco.plan.node.diff import Changes
from mco.plan.node.target import Target
from mco.plan.preview import contents, parts
from mco.plan.preview.contents import Contents
from mco.plan.preview.parts import Change, Kind


class DropinChange(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    change: Kind
    contents: Contents | None = None


class UnitChange(msgspec.Struct, frozen=True, kw_only=True):
    """`attributes`: what of a changed unit differs: contents, dropins, enabled, mask. `enabled` is null on a
    side where the machine's presets decide, `mask` where nothing is said."""

    name: str
    change: Kind
    attributes: tuple[str, ...] = ()
    enabled: Change[bool] | None = None
    mask: Change[bool] | None = None
    contents: Contents | None = None
    dropins: tuple[DropinChange, ...] = ()


def of(old: Target, new: Target, changes: Changes) -> tuple[UnitChange, ...]:
    """In the order of their names; where nothing but the order of the list differs, what moved."""
    before, after = diff.units(old), diff.units(new)
    if changes.units and not changes.changed_units:
        return tuple(UnitChange(name=name, change="moved") for name in parts.moved(before, after))
    return tuple(_change(name, before.get(name), after.get(name)) for name in sorted(changes.changed_units))


def _change(name: str, old: Unit | None, new: Unit | None) -> UnitChange:
    found = UnitChange(
        name=name,
        change=parts.kind(old, new),
        enabled=parts.change(old.enabled if old else None, new.enabled if new else None),
        mask=parts.change(old.mask if old else None, new.mask if new else None),
        contents=contents.change(unit_path(name), _text(old), _text(new)),
        dropins=tuple(_dropins(name, old, new)),
    )
    if old is None or new is None:
        return found
    attributes = ("contents", "dropins", "enabled", "mask")
    differing = tuple(attribute for attribute in attributes if getattr(found, attribute))
    return msgspec.structs.replace(found, attributes=differing)


def _text(unit: Unit | None) -> str | None:
    return unit.contents if unit else None


def _dropins(unit: str, old: Unit | None, new: Unit | None) -> Iterator[DropinChange]:
    before, after = _by_name(old), _by_name(new)
    differing = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    for name in differing:
        former, latter = before.get(name), after.get(name)
        found = contents.change(dropin_path(unit, name), former, latter)
        yield DropinChange(name=name, change=parts.kind(former, latter), contents=found)
    if not differing:
        for name in parts.moved(before, after):
            yield DropinChange(name=name, change="moved")


def _by_name(unit: Unit | None) -> dict[str, str]:
    return {dropin.name: dropin.contents or "" for dropin in unit.dropins} if unit else {}
