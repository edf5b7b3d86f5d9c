"""The bookkeeping of keyed lists: which inputs mention an element, where it stands, what moved or removed
it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mco.ignition import types as t
from mco.ignition.schema import SHARED, Field, key_of, lists


class Mention(NamedTuple):
    """What one input says: the input's index (`source`) and its value."""

    source: int
    value: Any


class Slot:
    """One element of the merged list: its mentions in order, and those that it displaced from sibling
    lists."""

    __slots__ = ("alive", "displaced", "key", "mentions")

    def __init__(self, key: str, mention: Mention, displaced: list[Mention]) -> None:
        self.key = key
        self.mentions = [mention]
        self.displaced = displaced
        self.alive = True


class Group:
    """Lists of one struct that share a key space: usually just one list."""

    def __init__(self, members: tuple[Field, ...]) -> None:
        self.members = members
        self.order: dict[str, list[Slot]] = {field.name: [] for field in members}
        self.slots: dict[str, dict[str, list[Slot]]] = {field.name: {} for field in members}
        self.removals: list[Mention] = []

    def add(self, mention: Mention) -> None:
        """Takes over the lists of one input, later than all before it."""
        items = [(field.name, item) for field in self.members for item in getattr(mention.value, field.name)]
        if not items:
            return
        winners = {key_of(item): (name, item) for name, item in items}
        known = {name: self.slots[name].keys() & winners.keys() for name in self.order}
        displaced: dict[str, list[Mention]] = {}
        for key, (name, item) in winners.items():
            self._meet(key, name, Mention(mention.source, item), displaced)
        for name, item in items:
            key = key_of(item)
            if key not in known[name]:
                self._append(name, Slot(key, Mention(mention.source, item), displaced.get(key, [])))

    def alive(self, name: str) -> Iterator[Slot]:
        """The elements of one list, in order."""
        return (slot for slot in self.order[name] if slot.alive)

    def _append(self, name: str, slot: Slot) -> None:
        self.order[name].append(slot)
        self.slots[name].setdefault(slot.key, []).append(slot)

    def _meet(self, key: str, winner: str, mention: Mention, displaced: dict[str, list[Mention]]) -> None:
        """Merges an element into the same list's slots; drops the slots of sibling lists."""
        for name, slots in self.slots.items():
            met = slots.get(key)
            if not met:
                continue
            if name == winner and not _removes(mention.value):
                for slot in met:
                    slot.mentions.append(mention)
                continue
            if name == winner:
                # What was removed matters too: without it, the remover would be a new element.
                self.removals.extend((mention, *(earlier for slot in met for earlier in slot.mentions)))
            for slot in slots.pop(key):
                slot.alive = False
                displaced.setdefault(key, []).extend((*slot.displaced, *slot.mentions))


def groups(struct: type) -> list[Group]:
    """Empty groups for all lists of a struct that have keys."""
    keyed = [field for field in lists(struct) if not field.concatenates]
    shared = SHARED.get(struct, ())
    together = tuple(field for field in keyed if field.name in shared)
    alone = [(field,) for field in keyed if field.name not in shared]
    return [Group(members) for members in ([together, *alone] if together else alone)]


def _removes(item: Any) -> bool:
    """A header without a value removes the earlier header of that name."""
    return isinstance(item, t.HTTPHeader) and item.value is None
