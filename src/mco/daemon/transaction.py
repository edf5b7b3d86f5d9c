"""What the entries of the journal mean: one update, its actions, and marks for where it stands.

The host's journal knows numbered entries. Here entry 0 describes the update, then come the actions, then
what is done to running services, then two marks: `performed` (with the boot in which everything was done)
and `undone` (with the boot in which everything was taken back, where a reboot has to follow).
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.host.records import ActionState, JournalState
from mco.plan.node.disruption import PostAction
from mco.plan.node.observation import Phase, Transaction
from mco.plan.node.steps import UpdatePlan

UPDATE, ACTION, POST, PERFORMED, UNDONE = "update", "action", "post", "performed", "undone"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One journal entry. `text` describes an action without contents; a program that would plan other actions
    for the same update recognizes it by that."""

    kind: str
    text: str = ""
    post: PostAction | None = None
    light: bool = False
    forced: bool = False


class Mark(msgspec.Struct, frozen=True):
    """The note of a mark: the boot it was set in, and how many reboots had been asked for by then."""

    boot_id: str
    reboots: int


def entries(plan: UpdatePlan) -> list[Any]:
    """The journal's list for an update."""
    listed = [
        Entry(UPDATE, light=plan.changes.only_kernel_arguments, forced=plan.changes.forced),
        *(Entry(ACTION, action.describe()) for action in plan.actions),
        *(Entry(POST, post=post) for post in plan.disruption.actions),
        Entry(PERFORMED),
        Entry(UNDONE),
    ]
    return [msgspec.to_builtins(entry) for entry in listed]


def entry(state: ActionState) -> Entry:
    return msgspec.convert(state.action, Entry)


def indices(state: JournalState, kind: str) -> list[int]:
    return [index for index, found in enumerate(state.actions) if entry(found).kind == kind]


def mark(state: JournalState, kind: str) -> Mark | None:
    """The note of a mark, None before it is set."""
    for found in state.actions:
        if entry(found).kind == kind and found.note is not None:
            return msgspec.convert(found.note, Mark)
    return None


def same_plan(state: JournalState, plan: UpdatePlan) -> bool:
    """Whether the journal's actions are those that this program would plan."""
    recorded = [entry(state.actions[index]).text for index in indices(state, ACTION)]
    return recorded == [action.describe() for action in plan.actions]


def transaction(state: JournalState | None, boot_id: str) -> Transaction | None:
    """The unfinished update in the journal, seen from the boot `boot_id`."""
    if state is None or state.finished:
        return None
    update = entry(state.actions[0])
    posts = tuple(
        post for index in indices(state, POST) if (post := entry(state.actions[index]).post) is not None
    )
    found = Transaction(
        old=state.source,
        new=state.target,
        phase=Phase.APPLYING,
        boot_id=state.boot_id,
        ran=state.boot_id != boot_id,
        light=update.light,
        forced=update.forced,
        post_actions=posts,
    )
    if state.undoing:
        undone = mark(state, UNDONE)
        return _marked(found, state, Phase.UNDONE, undone) if undone else _at(found, Phase.UNDOING)
    if performed := mark(state, PERFORMED):
        phase = Phase.REBOOTING if found.needs_reboot else Phase.PERFORMED
        return _marked(found, state, phase, performed)
    return found


def _at(found: Transaction, phase: Phase) -> Transaction:
    return msgspec.structs.replace(found, phase=phase)


def _marked(found: Transaction, state: JournalState, phase: Phase, mark_: Mark) -> Transaction:
    asked = state.reboots[mark_.reboots :]
    boot_id = asked[-1] if asked else mark_.boot_id
    return msgspec.structs.replace(found, phase=phase, boot_id=boot_id, reboots=len(asked))
