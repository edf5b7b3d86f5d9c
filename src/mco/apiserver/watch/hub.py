"""Hands every committed change to the watchers that it concerns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from mco.apiserver.store.revision import Change, Revision
from mco.apiserver.watch.selection import Selection, View

QUEUE_LIMIT = 1_000
QUEUE_BYTES = 32 * 1024 * 1024


class Happening:
    """A revision on its way to watchers, with what was there before and the bytes made for it so far."""

    __slots__ = ("_before", "_load", "after", "frames", "revision")

    def __init__(self, revision: Revision, before: Callable[[], Revision | None]) -> None:
        self.revision = revision
        self.after = View(revision.key, revision.data)
        self.frames: dict[tuple[object, ...], bytes] = {}
        self._load = before
        self._before: View | None = None

    @property
    def before(self) -> View | None:
        if self._before is None and self.revision.previous:
            revision = self._load()
            self._before = View(revision.key, revision.data) if revision else None
        return self._before

    def seen_by(self, selection: Selection) -> tuple[Change, View] | None:
        """What a watcher of the selection sees of it.

        What enters the selection is ADDED, what leaves it is DELETED as it was before."""
        change = self.revision.change
        if selection.plain:
            return (change, self.after) if selection.matches(self.after) else None
        is_in = change is not Change.DELETED and selection.matches(self.after)
        before = self.before if change is not Change.ADDED else None
        was_in = before is not None and selection.matches(before)
        if is_in:
            return (Change.MODIFIED if was_in else Change.ADDED), self.after
        if not was_in or before is None:
            return None
        return Change.DELETED, View(self.revision.key, restamped(before.data, self.revision.number))


def restamped(data: bytes, number: int) -> bytes:
    """An object's bytes with another resourceVersion."""
    value = msgspec.json.decode(data)
    value["metadata"]["resourceVersion"] = str(number)
    return msgspec.json.encode(value)


class Watcher:
    """One watch: what it has not sent yet.

    A consumer that falls too far behind is dropped, not kept: `on_overrun` then cuts its connection."""

    def __init__(self, hub: Hub, resource: str, selection: Selection, on_overrun: Callable[[], None]) -> None:
        self._on_overrun = on_overrun
        self._hub = hub
        self.resource = resource
        self.selection = selection
        self.since = 0
        self._queue: deque[Happening] = deque()
        self._bytes = 0
        self._wake: asyncio.Future[None] | None = None
        self._ended = False
        self._bookmark = False
        self._reached = 0

    def offer(self, happening: Happening) -> None:
        if self._ended or happening.revision.number <= self.since:
            return
        self._queue.append(happening)
        self._bytes += len(happening.revision.data)
        if len(self._queue) > QUEUE_LIMIT or (self._bytes > QUEUE_BYTES and len(self._queue) > 1):
            self._queue.clear()
            self._bookmark = False
            self.end()
            self._on_overrun()
        self._notify()

    def remind(self) -> None:
        """Lets the consumer send a bookmark once it has sent everything else."""
        self._bookmark = True
        self._notify()

    def expire(self) -> None:
        """Ends it with a bookmark."""
        self._bookmark = True
        self.end()

    def end(self) -> None:
        """Nothing more is offered; what was, can still be sent."""
        if not self._ended:
            self._ended, self._reached = True, self._hub.reached
            self._hub.remove(self)
        self._notify()

    async def next(self) -> list[Happening] | int | None:
        """What happened, or a revision for a bookmark, or None at the end."""
        while not (self._queue or self._ended or self._bookmark):
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self._queue:
            happenings = list(self._queue)
            self._queue.clear()
            self._bytes = 0
            return happenings
        if self._bookmark:
            self._bookmark = False
            return self._reached if self._ended else self._hub.reached
        return None

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class Hub:
    """`reached`: every change up to this revision has been handed out."""

    def __init__(self, before: Callable[[int], Revision | None]) -> None:
        self._before = before
        self._broad: dict[str, set[Watcher]] = {}
        self._named: dict[tuple[str, str], set[Watcher]] = {}
        self.reached = 0

    def add(self, resource: str, selection: Selection, on_overrun: Callable[[], None]) -> Watcher:
        watcher = Watcher(self, resource, selection, on_overrun)
        self._set_of(watcher).add(watcher)
        return watcher

    def remove(self, watcher: Watcher) -> None:
        self._set_of(watcher).discard(watcher)
        if watcher.selection.name and not self._set_of(watcher):
            del self._named[watcher.resource, watcher.selection.name]

    def hand_out(self, revisions: list[Revision]) -> None:
        for revision in revisions:
            happening = Happening(revision, lambda number=revision.previous: self._before(number))  # type: ignore[misc]
            for watcher in self._concerned(revision):
                watcher.offer(happening)
            self.reached = revision.number

    def watchers(self) -> Iterator[Watcher]:
        for group in (*self._broad.values(), *self._named.values()):
            yield from tuple(group)

    def end_all(self, resource: str) -> None:
        for watcher in self.watchers():
            if watcher.resource == resource:
                watcher.end()

    def __len__(self) -> int:
        return sum(map(len, (*self._broad.values(), *self._named.values())))

    def _concerned(self, revision: Revision) -> tuple[Watcher, ...]:
        broad = self._broad.get(revision.key.resource, ())
        named = self._named.get((revision.key.resource, revision.key.name), ())
        return (*broad, *named)

    def _set_of(self, watcher: Watcher) -> set[Watcher]:
        if watcher.selection.name:
            return self._named.setdefault((watcher.resource, watcher.selection.name), set())
        return self._broad.setdefault(watcher.resource, set())
