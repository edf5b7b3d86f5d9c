"""What the journal of an update consists of: records on the disk, and the state that they add up to.

A line is `{"sum": "...", "record": {...}}`; the sum is over the record's bytes. The journal knows nothing of
what an action means: actions and notes are JSON of the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

VERSION = 1

Phase = Literal["pending", "started", "applied", "undone"]
Outcome = Literal["", "done", "failed"]


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    pass


class Begin(_Record, frozen=True, kw_only=True, tag="begin"):
    """`id` tells the pre-images of this update from an earlier one's."""

    version: int
    id: str
    source: str
    target: str
    boot_id: str
    actions: tuple[Any, ...]


class ImageRef(msgspec.Struct, frozen=True, kw_only=True):
    """A pre-image's file beside the journal. `sum` is its SHA-256."""

    path: str
    file: str
    sum: str


class Before(_Record, frozen=True, kw_only=True, tag="before"):
    index: int
    images: tuple[ImageRef, ...] = ()
    note: Any = None


class After(_Record, frozen=True, kw_only=True, tag="after"):
    index: int


class Undoing(_Record, frozen=True, kw_only=True, tag="undoing"):
    """From here on the update goes back."""

    reason: str


class Undone(_Record, frozen=True, kw_only=True, tag="undone"):
    index: int


class Rebooting(_Record, frozen=True, kw_only=True, tag="rebooting"):
    """`boot_id` is of the boot that is about to end."""

    boot_id: str


class Finished(_Record, frozen=True, kw_only=True, tag="finished"):
    outcome: Literal["done", "failed"]
    reason: str = ""


Record = Begin | Before | After | Undoing | Undone | Rebooting | Finished


class ActionState(msgspec.Struct, frozen=True, kw_only=True):
    """`started` means that the action may have happened in part, wholly or not at all."""

    action: Any
    phase: Phase = "pending"
    images: tuple[ImageRef, ...] = ()
    note: Any = None


class JournalState(msgspec.Struct, frozen=True, kw_only=True):
    """An update as the disk knows it. `source` and `target` are names of configs; `boot_id` is of the boot in
    which it began; `reboots` are the boot ids that ended, or were about to, for it."""

    id: str
    source: str
    target: str
    boot_id: str
    actions: tuple[ActionState, ...]
    undoing: bool = False
    reason: str = ""
    reboots: tuple[str, ...] = ()
    outcome: Outcome = ""

    @property
    def finished(self) -> bool:
        return self.outcome != ""

    @property
    def next(self) -> int | None:
        """Index of the first action that is not known to be applied; None when all are."""
        return next((i for i, a in enumerate(self.actions) if a.phase in ("pending", "started")), None)

    @property
    def to_undo(self) -> tuple[int, ...]:
        """Indices of what may have happened and was not undone, last first."""
        happened = [i for i, a in enumerate(self.actions) if a.phase in ("started", "applied")]
        return tuple(reversed(happened))


class Line(msgspec.Struct, frozen=True, kw_only=True):
    sum: str
    record: msgspec.Raw


def encode_line(record: Record) -> bytes:
    raw = msgspec.json.encode(record)
    return msgspec.json.encode(Line(sum=checksum(raw), record=msgspec.Raw(raw))) + b"\n"


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def begun(begin: Begin) -> JournalState:
    return JournalState(
        id=begin.id,
        source=begin.source,
        target=begin.target,
        boot_id=begin.boot_id,
        actions=tuple(ActionState(action=action) for action in begin.actions),
    )


def replay(begin: Begin, records: Iterable[Record]) -> JournalState:
    state = begun(begin)
    for record in records:
        state = advance(state, record)
    return state


def advance(state: JournalState, record: Record) -> JournalState:
    """The state after one more record. Raises ValueError for a record that cannot follow."""
    if state.finished:
        raise ValueError(f"a record {type(record).__name__} after the end")
    change = msgspec.structs.replace
    match record:
        case Before(index=index, images=images, note=note):
            return _with_action(state, index, phase="started", images=images, note=note)
        case After(index=index):
            return _with_action(state, index, phase="applied", comes_after=("started",))
        case Undone(index=index):
            return _with_action(state, index, phase="undone", comes_after=("started", "applied"))
        case Undoing(reason=reason):
            return change(state, undoing=True, reason=reason)
        case Rebooting(boot_id=boot_id):
            return change(state, reboots=(*state.reboots, boot_id))
        case Finished(outcome=outcome, reason=reason):
            return change(state, outcome=outcome, reason=reason or state.reason)
        case _:
            raise ValueError("a second beginning")


def _with_action(
    state: JournalState, index: int, comes_after: tuple[Phase, ...] = ("pending",), **changes: Any
) -> JournalState:
    if not 0 <= index < len(state.actions):
        raise ValueError(f"there is no action {index}")
    actions = list(state.actions)
    if actions[index].phase not in comes_after:
        raise ValueError(f"action {index} is {actions[index].phase} and cannot become {changes['phase']}")
    actions[index] = msgspec.structs.replace(actions[index], **changes)
    return msgspec.structs.replace(state, actions=tuple(actions))
