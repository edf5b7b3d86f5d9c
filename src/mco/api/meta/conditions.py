"""Conditions: the list that a status reports, and how entries of it are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mco.api.meta.objects import APIStruct

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


class Condition(APIStruct, frozen=True, kw_only=True, omit_defaults=False):
    """One condition of a pool (v1 style, nullable transition time) or of a Node."""

    type: str
    status: str
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


def find(conditions: Iterable[Condition] | None, type_: str) -> Condition | None:
    """The last condition of that type, as the original's getter (spec/node.md 3.8)."""
    found = None
    for condition in conditions or ():
        if condition.type == type_:
            found = condition
    return found


def is_true(conditions: Iterable[Condition] | None, type_: str) -> bool:
    """Whether any condition of that type is True."""
    return any(c.type == type_ and c.status == TRUE for c in conditions or ())


def set_condition(conditions: Sequence[Condition], new: Condition, now: str) -> tuple[Condition, ...]:
    """`conditions` with `new` in place of the one of its type; `now` is an RFC 3339 time.

    Nothing changes when status, reason and message are equal; the transition time survives an unchanged
    status; a replaced condition moves to the end (spec/render.md 1.3)."""
    old = find(conditions, new.type)
    if old and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return tuple(conditions)
    time = old.last_transition_time if old and old.status == new.status else now
    kept = tuple(c for c in conditions if c.type != new.type)
    return (*kept, msgspec.structs.replace(new, last_transition_time=time))
