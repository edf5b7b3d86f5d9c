"""Kernel arguments as words: one entry of a MachineConfig may hold several (spec/daemon.md 6.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

_BLANKS = " \t\n\v\f\r"


def words(entries: Iterable[str] | None) -> tuple[str, ...]:
    """The arguments in `entries`, in order, duplicates kept. Blanks separate, double quotes protect blanks
    and stay part of the argument; there is no escape."""
    return tuple(word for entry in entries or () for word in _split(entry))


def _split(entry: str) -> list[str]:
    found: list[str] = []
    word, quoted = "", False
    for character in entry:
        if character in _BLANKS and not quoted:
            if word:
                found.append(word)
            word = ""
            continue
        quoted ^= character == '"'
        word += character
    return [*found, word] if word else found


def commands(old: Sequence[str] | None, new: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """The changes as the original asks its boot loader for them: every old argument goes, every new one
    comes, also an unchanged one (spec/daemon.md 15.1)."""
    deletions = tuple(("delete-if-present", word) for word in words(old))
    return deletions + tuple(("append", word) for word in words(new))


def replaced(
    configured: Sequence[str], old: Sequence[str] | None, new: Sequence[str] | None
) -> tuple[str, ...]:
    """The configured command line after those changes: what neither config names stays in its place."""
    gone = Counter(words(old))
    kept = []
    # The last occurrence goes first: what a config appended stands behind what the image brought.
    for word in reversed(configured):
        if gone[word]:
            gone[word] -= 1
        else:
            kept.append(word)
    return (*reversed(kept), *words(new))


def missing(wanted: Iterable[str], present: Iterable[str]) -> tuple[str, ...]:
    """The words of `wanted` that are not in `present` as often as they are wanted."""
    left = Counter(present)
    absent = []
    for word in wanted:
        if left[word]:
            left[word] -= 1
        else:
            absent.append(word)
    return tuple(absent)


def in_running_order(requested: Sequence[str] | None, running: Sequence[str]) -> tuple[str, ...]:
    """Those of `requested` that run, in the order in which they run: the kernel arguments of a node at first
    boot, before it has a config (spec/daemon.md 1.7, step 6)."""
    wanted = set(words(requested))
    return tuple(word for word in running if word in wanted)
