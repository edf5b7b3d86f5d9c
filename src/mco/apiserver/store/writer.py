"""The only thread that writes: takes what has queued up, commits it at once, answers each.

Numbers are given out on the event loop in the order in which writes are queued, so revisions commit in their
order. A write that lost the race for its object leaves a gap, which nobody can notice.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from mco.apiserver.store import database
from mco.apiserver.store.revision import Change, Key, Revision
from mco.base.errors import Conflict, MCOError, Unavailable

BATCH = 256


class Write(msgspec.Struct, frozen=True):
    """One change to commit if the object is still at revision `revision.previous` (0: does not exist)."""

    revision: Revision
    done: asyncio.Future[Revision]


class Compaction(msgspec.Struct, frozen=True):
    """Forget what was superseded at or before `number`."""

    number: int


class Writer:
    """`committed` runs on the event loop with each commit's revisions, before their writers learn of it."""

    def __init__(
        self, path: Path, loop: asyncio.AbstractEventLoop, committed: Callable[[list[Revision]], None]
    ) -> None:
        self._path = path
        self._loop = loop
        self._committed = committed
        self._queue: queue.SimpleQueue[Write | Compaction | None] = queue.SimpleQueue()
        self._connection = database.connect(path)
        self._thread = threading.Thread(target=self._run, name="apiserver-writer", daemon=True)
        self._closed = False
        self._thread.start()

    def submit(self, write: Write | Compaction) -> None:
        if self._closed:
            raise Unavailable("the API server is shutting down")
        self._queue.put(write)

    def close(self) -> None:
        """Commits what was queued before, then ends."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch: list[Write] = []
            compactions: list[Compaction] = []
            for item in self._take():
                match item:
                    case None:
                        ended = True
                    case Write():
                        batch.append(item)
                    case _:
                        compactions.append(item)
            if batch:
                self._commit(batch)
            for compaction in compactions:
                self._compact(compaction.number)

    def _take(self) -> list[Write | Compaction | None]:
        items = [self._queue.get()]
        while len(items) < BATCH:
            try:
                items.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return items

    def _commit(self, batch: list[Write]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            accepted = [self._apply(write.revision) for write in batch]
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            failure: MCOError = database.explain(error, self._path)
            self._loop.call_soon_threadsafe(_fail, batch, failure)
            return
        self._loop.call_soon_threadsafe(self._deliver, batch, accepted)

    def _apply(self, revision: Revision) -> bool:
        key = (revision.key.resource, revision.key.namespace, revision.key.name)
        row = self._connection.execute(
            "SELECT rv FROM current WHERE resource=? AND namespace=? AND name=?", key
        ).fetchone()
        if (row[0] if row else 0) != revision.previous:
            return False
        self._connection.execute(
            "INSERT INTO revision VALUES (?,?,?,?,?,?,?,?)",
            (
                revision.number,
                *key,
                int(revision.change),
                revision.previous,
                revision.data,
                revision.checksum,
            ),
        )
        if revision.change is Change.DELETED:
            self._connection.execute("DELETE FROM current WHERE resource=? AND namespace=? AND name=?", key)
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO current VALUES (?,?,?,?)", (*key, revision.number)
            )
        return True

    def _compact(self, number: int) -> None:
        """What a revision up to `number` replaced, and deletions up to there, will never be asked for."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            last = self._connection.execute("SELECT rv FROM compacted").fetchone()[0]
            span = (last, number)
            self._connection.execute(
                "DELETE FROM revision WHERE rv IN (SELECT previous FROM revision WHERE rv > ? AND rv <= ?)",
                span,
            )
            self._connection.execute(
                "DELETE FROM revision WHERE rv > ? AND rv <= ? AND change = ?", (*span, int(Change.DELETED))
            )
            self._connection.execute("UPDATE compacted SET rv = ?", (number,))
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            # History that is kept too long harms nobody; the next compaction tries again.
            self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _deliver(self, batch: list[Write], accepted: list[bool]) -> None:
        self._committed([write.revision for write, ok in zip(batch, accepted, strict=True) if ok])
        for write, ok in zip(batch, accepted, strict=True):
            if write.done.done():
                continue
            if ok:
                write.done.set_result(write.revision)
            else:
                write.done.set_exception(
                    Conflict("the object has been modified", subject=label(write.revision.key))
                )


def label(key: Key) -> str:
    return "/".join(filter(None, (key.resource, key.namespace, key.name)))


def _fail(batch: list[Write], error: MCOError) -> None:
    for write in batch:
        if not write.done.done():
            write.done.set_exception(error)
