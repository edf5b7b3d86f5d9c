"""Whether the file still holds what was committed to it: looked at before each start.

SQLite notices a damaged page, not a damaged value, and takes a log that ends in the middle for one that was
never finished. So each revision carries a checksum, and a log with commits behind its end is refused.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from mco.apiserver.store.revision import COLUMNS, Change, Key, Revision, revision_of
from mco.base.errors import InvalidInput

RESTORE = "restore the data folder from a copy, or start with an empty one"

# The write-ahead log and its index: https://www.sqlite.org/walformat.html
_LOG_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_LAST_FRAME = struct.Struct("=I")
_LAST_FRAME_AT = 16


def damaged(what: object, path: Path) -> InvalidInput:
    return InvalidInput(f"the database is damaged: {what}", path=str(path), hint=RESTORE)


def log_of(path: Path) -> Path:
    """Where SQLite keeps what was committed and not yet moved into the file itself."""
    return path.with_name(f"{path.name}-wal")


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises InvalidInput that says what is damaged. The connection must be a read-only one: any other would
    move the log into the file, and remove it, when it is closed."""
    _check_log(connection, path)
    verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict != "ok":
        raise damaged(verdict, path)
    _check_revisions(connection, path)


def _check_log(connection: sqlite3.Connection, path: Path) -> None:
    """Raises InvalidInput when acknowledged changes lie behind the point where the log breaks off.

    A crash can leave one transaction there, which nobody was told of; two cannot be left by a crash, for
    each is on disk before the next begins."""
    log = log_of(path)
    if not log.exists() or log.stat().st_size <= _LOG_HEADER.size:
        return
    whole = _whole_frames(connection, path)
    with log.open("rb") as file:
        page_size, salt = _read_header(file.read(_LOG_HEADER.size), path)
        step = _FRAME_HEADER.size + page_size
        file.seek(_LOG_HEADER.size + whole * step)
        lost = 0
        while len(head := file.read(_FRAME_HEADER.size)) == _FRAME_HEADER.size:
            _, commits, *rest = _FRAME_HEADER.unpack(head)
            lost += bool(commits and tuple(rest[:2]) == salt)
            file.seek(page_size, 1)
    if lost > 1:
        raise damaged(f"its log breaks off after {whole} pages, with {lost} transactions behind", path)


def _whole_frames(connection: sqlite3.Connection, path: Path) -> int:
    """How many pages of the log SQLite accepts; its index says so once something was read."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    index = path.with_name(f"{path.name}-shm").read_bytes()
    count: int = _LAST_FRAME.unpack_from(index, _LAST_FRAME_AT)[0]
    return count


def _read_header(raw: bytes, path: Path) -> tuple[int, tuple[int, int]]:
    """Size of a page, and the two numbers that frames of the present round carry."""
    words = _LOG_HEADER.unpack(raw)
    order = ">" if words[0] & 1 else "<"
    first = second = 0
    for even, odd in struct.iter_unpack(f"{order}2I", raw[:24]):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    if (first, second) != words[6:] and any(words):
        raise damaged("the head of its log is not what was written", path)
    return words[2], (words[4], words[5])


def _check_revisions(connection: sqlite3.Connection, path: Path) -> None:
    """Raises InvalidInput for a revision that is not as it was written, and for a state without one."""
    newest: dict[Key, int] = {}
    for revision in _sound_revisions(connection, path):
        if revision.change is Change.DELETED:
            newest.pop(revision.key, None)
        else:
            newest[revision.key] = revision.number
    rows = connection.execute("SELECT resource, namespace, name, rv FROM current")
    if newest != {Key(*key): number for *key, number in rows}:
        raise damaged("the current state is not what the revisions lead to", path)


def _sound_revisions(connection: sqlite3.Connection, path: Path) -> Iterator[Revision]:
    query = f"SELECT {COLUMNS}, r.checksum FROM revision r ORDER BY r.rv"
    for *row, checksum in connection.execute(query):
        revision = revision_of(row)
        if revision.checksum != checksum:
            raise damaged(f"revision {revision.number} is not what was written", path)
        yield revision
