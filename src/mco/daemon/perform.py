"""Carries out an update on the machine, action by action, through the journal.

Before an action its pre-images are on the disk, after it a record that it happened; both are synced. A
failure undoes what was done in reverse, from the pre-images and never by planning backwards. The calls
block: the agent runs them in one worker thread and asks `stop` to end between two actions, which leaves a
journal to go on from.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mco.base.errors import MCOError
from mco.daemon import act, transaction
from mco.daemon.transaction import ACTION, PERFORMED, POST, UNDONE, Mark
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.host.records import JournalState
from mco.plan.node import actions, policies
from mco.plan.node.disruption import PostAction
from mco.plan.node.steps import UpdatePlan
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.perform")

Progress = Callable[[PostAction, MCOError | None], None]
Stop = Callable[[], bool]


class Failed(MCOError):
    """An action failed; everything before it is undone. `path` is the file where there is one."""


class UndoFailed(MCOError):
    """The journal holds what is left to undo; it is tried again."""


class Interrupted(MCOError):
    """Somebody asked to stop between two actions; the journal says how far it got."""


class Performer:
    """`progress` hears of each thing done to a running service, and how it ended."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        *,
        stop: Stop = lambda: False,
        progress: Progress = lambda post, error: None,
    ) -> None:
        self._host = host
        self._journal = journal
        self._stop = stop
        self._progress = progress

    def begin(self, plan: UpdatePlan, raw: bytes) -> None:
        """A new update. `raw` is the new MachineConfig as JSON, which the node keeps as its own note."""
        state = self._journal.begin(
            plan.old.name, plan.new.name, self._host.boot_id(), transaction.entries(plan)
        )
        self._carry_on(state, plan, raw)

    def resume(self, plan: UpdatePlan, raw: bytes) -> None:
        """Go on where the journal ends. An update that another version of the program planned differently is
        undone instead, and begun again by whoever asks next."""
        state = self._need()
        if not transaction.same_plan(state, plan):
            self._fail(MCOError("the update was planned by another version of the program"))
        self._carry_on(state, plan, raw)

    def undo(self, reason: str, *, reboot: bool) -> None:
        """Brings everything back. `reboot`: what runs has read it, so that the journal stays open until the
        machine has rebooted. Raises UndoFailed."""
        state = self._need()
        if not state.undoing:
            self._journal.undoing(reason)
        try:
            restarted = self._undo_all(self._need())
        except MCOError as error:
            raise UndoFailed(
                f"undoing the update failed: {error}", path=error.path, hint=error.hint
            ) from error
        if reboot:
            self._set_mark(UNDONE)
            return
        self._journal.failed(reason)
        for post in restarted:
            self._again(post)

    def reboot(self, config: str) -> None:
        """Queues the reboot. Raises HostError when the machine refuses."""
        self._journal.rebooting(self._host.boot_id())
        self._host.reboot(f"Node will reboot into config {config}")

    def close(self) -> None:
        """The update, or its undoing, is seen to be complete."""
        if self._need().undoing:
            self._journal.failed()
        else:
            self._journal.done()

    # Forwards

    def _carry_on(self, state: JournalState, plan: UpdatePlan, raw: bytes) -> None:
        try:
            context = act.Context(self._host, raw)
            for index, action in zip(transaction.indices(state, ACTION), plan.actions, strict=True):
                self._interruptible()
                self._act(context, index, action)
            for index in transaction.indices(state, POST):
                self._interruptible()
                self._post(index)
        except Interrupted:
            raise
        except MCOError as error:
            self._fail(error)
        self._set_mark(PERFORMED)

    def _act(self, context: act.Context, index: int, action: actions.AnyAction) -> None:
        phase = self._phase(index)
        if phase == "applied":
            return
        if phase == "started":
            # A part of it may have happened, and not every action can be done over its own part.
            self._take_back(index)
        prepared = act.prepare(context, action)
        if prepared is None:
            return
        self._journal.before(index, prepared.images, prepared.note)
        prepared.perform()
        self._journal.after(index)

    def _take_back(self, index: int) -> None:
        act.take_back(self._host, self._journal.images(index), self._need().actions[index].note)

    def _phase(self, index: int) -> str:
        return self._need().actions[index].phase

    def _interruptible(self) -> None:
        if self._stop():
            raise Interrupted("the update was interrupted between two actions")

    def _post(self, index: int) -> None:
        post = transaction.entry(self._need().actions[index]).post
        if post is None or post.type == policies.REBOOT or self._phase(index) == "applied":
            return
        self._journal.before(index)
        try:
            act.post(self._host, post)
        except MCOError as error:
            self._progress(post, error)
            raise
        self._progress(post, None)
        self._journal.after(index)

    # Backwards

    def _fail(self, error: MCOError) -> None:
        _log.warning("update failed, undoing it", error=str(error), path=error.path)
        try:
            self.undo(str(error), reboot=False)
        except MCOError as second:
            text = f"{error}; {second}"
            raise UndoFailed(text, path=error.path, hint=error.hint) from error
        raise Failed(str(error), path=error.path, hint=error.hint) from error

    def _undo_all(self, state: JournalState) -> list[PostAction]:
        """Returns what had been done to services, which have to read the old files again."""
        restarted: list[PostAction] = []
        for index in state.to_undo:
            entry = transaction.entry(state.actions[index])
            if entry.kind == ACTION:
                self._take_back(index)
            elif entry.kind == POST and entry.post is not None:
                restarted.insert(0, entry.post)
            elif entry.kind == UNDONE:
                continue
            self._journal.undone(index)
        return restarted

    def _again(self, post: PostAction) -> None:
        try:
            act.post(self._host, post)
        except MCOError as error:
            _log.warning("service not told of the undone files", service=post.service, error=str(error))

    # Mechanics

    def _need(self) -> JournalState:
        state = self._journal.state or self._journal.read()
        if state is None:
            raise MCOError("the journal is gone", path=self._journal.folder)
        return state

    def _set_mark(self, kind: str) -> None:
        state = self._need()
        index = transaction.indices(state, kind)[0]
        note = Mark(self._host.boot_id(), len(state.reboots))
        self._journal.before(index, (), msgspec.to_builtins(note))
        self._journal.after(index)
