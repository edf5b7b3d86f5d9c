"""Reading and changing revisions. Reads happen on the calling thread: a point query takes some 20 us."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mco.apiserver.store import database
from mco.apiserver.store.revision import COLUMNS, Change, Key, Page, Revision, revision_of
from mco.apiserver.store.writer import Compaction, Write, Writer
from mco.base.errors import MCOError
from mco.runtime.virtual import work_outside

RETENTION_SECONDS = 300.0
RETENTION_REVISIONS = 200_000


class Compacted(MCOError):
    """The history that was asked for is gone; `oldest` is the first revision one can still continue from."""

    def __init__(self, oldest: int) -> None:
        super().__init__("the requested history has been compacted")
        self.oldest = oldest


class Store:
    """`committed` is called on the event loop with every commit's revisions, in their order."""

    def __init__(self, folder: Path, committed: Callable[[list[Revision]], None]) -> None:
        self._lock = database.lock(folder)
        try:
            self._path = folder / "objects.db"
            database.prepare(self._path)
            self._reader = database.connect(self._path, read_only=True)
            self._compacted = int(self._one("SELECT rv FROM compacted"))
            self._last = max(int(self._one("SELECT ifnull(max(rv), 0) FROM revision")), self._compacted)
            self._writer = Writer(self._path, asyncio.get_running_loop(), committed)
        except BaseException:
            os.close(self._lock)
            raise
        self._marks: deque[tuple[float, int]] = deque()

    def close(self) -> None:
        self._writer.close()
        self._reader.close()
        os.close(self._lock)

    # -- reading

    def current(self) -> int:
        """The newest committed revision, or the newest that was forgotten."""
        return max(int(self._one("SELECT ifnull(max(rv), 0) FROM revision")), self._compacted)

    def get(self, key: Key) -> Revision | None:
        rows = self._rows(
            f"SELECT {COLUMNS} FROM current c JOIN revision r ON r.rv = c.rv "
            "WHERE c.resource=? AND c.namespace=? AND c.name=?",
            (key.resource, key.namespace, key.name),
        )
        return next(rows, None)

    def at(self, number: int) -> Revision | None:
        return next(self._rows(f"SELECT {COLUMNS} FROM revision r WHERE r.rv=?", (number,)), None)

    def page(
        self,
        resource: str,
        namespace: str = "",
        *,
        after: tuple[str, str] = ("", ""),
        limit: int = -1,
        at: int = 0,
    ) -> Page:
        """Objects of a resource (of one namespace, or of all) in the order of namespace and name, following
        `after`, as of revision `at` or as of now. Raises Compacted when `at` is too old."""
        with self._snapshot():
            now = self.current()
            if at and at < self._compacted:
                raise Compacted(self._compacted)
            query, arguments = (
                _past(resource, namespace, after, at)
                if at and at < now
                else _present(resource, namespace, after)
            )
            wanted = limit + 1 if limit >= 0 else -1
            revisions = list(self._rows(f"{query} LIMIT ?", (*arguments, wanted)))
        more = 0 <= limit < len(revisions)
        return Page(at or now, revisions[:limit] if more else revisions, more)

    def count(self, resource: str, namespace: str = "", after: tuple[str, str] = ("", "")) -> int:
        """How many objects there are now, following `after`."""
        where, arguments = _scope("c", resource, namespace)
        query = f"SELECT count(*) FROM current c WHERE {where} AND (c.namespace, c.name) > (?, ?)"
        return int(self._one(query, (*arguments, *after)))

    def history(self, resource: str, since: int) -> list[tuple[Revision, Revision | None]]:
        """Each later revision of a resource with the one before it.

        Raises Compacted when `since` is too old."""
        with self._snapshot():
            if since < self._compacted:
                raise Compacted(self._compacted)
            changes = list(
                self._rows(
                    f"SELECT {COLUMNS} FROM revision r WHERE r.rv > ? AND r.resource=? ORDER BY r.rv",
                    (since, resource),
                )
            )
            return [(change, self.at(change.previous) if change.previous else None) for change in changes]

    # -- changing

    async def write(
        self, key: Key, change: Change, *, previous: int, build: Callable[[int], bytes]
    ) -> Revision:
        """Commits one change; `build` makes the object's bytes for the number that the revision gets.

        Raises Conflict when the object is no longer at revision `previous` (0: does not exist), Unavailable
        when the file cannot be written. Once it returned, the change survives a crash."""
        self._last += 1
        done: asyncio.Future[Revision] = asyncio.get_running_loop().create_future()
        self._writer.submit(Write(Revision(self._last, key, change, previous, build(self._last)), done))
        # Whoever asked may be gone by now; the change is decided and is committed all the same.
        with work_outside():
            return await asyncio.shield(done)

    def forget(self, now: float) -> None:
        """Compacts what is older than the retention; call it regularly with a monotonic time."""
        newest = self.current()
        self._marks.append((now, newest))
        horizon = newest - RETENTION_REVISIONS
        while self._marks and self._marks[0][0] <= now - RETENTION_SECONDS:
            horizon = max(horizon, self._marks.popleft()[1])
        self.compact(horizon)

    def compact(self, number: int) -> None:
        """From now on history up to `number` is refused; the rows go soon after."""
        if number > self._compacted:
            self._compacted = number
            self._writer.submit(Compaction(number))

    # -- SQL

    def _one(self, query: str, arguments: tuple[Any, ...] = ()) -> Any:
        try:
            return self._reader.execute(query, arguments).fetchone()[0]
        except sqlite3.Error as error:
            raise database.explain(error, self._path) from error

    def _rows(self, query: str, arguments: tuple[Any, ...]) -> Iterator[Revision]:
        try:
            yield from map(revision_of, self._reader.execute(query, arguments))
        except sqlite3.Error as error:
            raise database.explain(error, self._path) from error

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[None]:
        self._reader.execute("BEGIN")
        try:
            yield
        finally:
            self._reader.execute("COMMIT")


def _scope(table: str, resource: str, namespace: str) -> tuple[str, tuple[str, ...]]:
    if namespace:
        return f"{table}.resource=? AND {table}.namespace=?", (resource, namespace)
    return f"{table}.resource=?", (resource,)


def _present(resource: str, namespace: str, after: tuple[str, str]) -> tuple[str, tuple[Any, ...]]:
    where, arguments = _scope("c", resource, namespace)
    return (
        f"SELECT {COLUMNS} FROM current c JOIN revision r ON r.rv = c.rv "
        f"WHERE {where} AND (c.namespace, c.name) > (?, ?) ORDER BY c.namespace, c.name",
        (*arguments, *after),
    )


def _past(resource: str, namespace: str, after: tuple[str, str], at: int) -> tuple[str, tuple[Any, ...]]:
    where, arguments = _scope("k", resource, namespace)
    return (
        f"SELECT {COLUMNS} FROM (SELECT k.namespace, k.name, max(k.rv) AS rv FROM revision k "
        f"WHERE {where} AND (k.namespace, k.name) > (?, ?) AND k.rv <= ? GROUP BY k.namespace, k.name) n "
        f"JOIN revision r ON r.rv = n.rv WHERE r.change != {int(Change.DELETED)} "
        "ORDER BY n.namespace, n.name",
        (*arguments, *after, at),
    )
