"""Shapes that several parts of a preview share."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

Kind = Literal["added", "changed", "removed", "moved"]
"""`moved`: only the order of the list differs, which counts as a change and does nothing."""


class Change(msgspec.Struct, Generic[T], frozen=True):
    """A value on both sides; null where there is none."""

    old: T | None = msgspec.field(name="from")
    new: T | None = msgspec.field(name="to")


class ListChange(msgspec.Struct, frozen=True, kw_only=True):
    """A list of words on both sides. `reordered`: the words that are on both sides stand in another order."""

    old: tuple[str, ...] = msgspec.field(name="from")
    new: tuple[str, ...] = msgspec.field(name="to")
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reordered: bool


def change(old: T | None, new: T | None) -> Change[T] | None:
    return None if old == new else Change(old, new)


def kind(old: object, new: object) -> Kind:
    if old is None:
        return "added"
    return "changed" if new is not None else "removed"


def moved(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """The fewest keys that have to move for the one order to become the other."""
    before, after = list(old), list(new)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    still = {key for block in matcher.get_matching_blocks() for key in after[block.b : block.b + block.size]}
    return tuple(key for key in after if key not in still)


def list_change(old: Sequence[str], new: Sequence[str], show: Callable[[str], str] = str) -> ListChange:
    """`show` gives a word as it may be shown."""
    before, removed = _split(old, new)
    after, added = _split(new, old)

    def shown(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(show, words))

    return ListChange(
        old=shown(old), new=shown(new), added=shown(added), removed=shown(removed), reordered=before != after
    )


def _split(words: Iterable[str], others: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words that are also among `others`, as often as they are there, and those that are not."""
    left = Counter(others)
    both: list[str] = []
    alone: list[str] = []
    for word in words:
        (both if left[word] > 0 else alone).append(word)
        left[word] -= 1
    return both, alone
