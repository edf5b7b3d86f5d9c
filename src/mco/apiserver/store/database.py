"""Opening the data folder's database: one server at a time, checked before use."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

from mco.base.errors import Conflict, InvalidInput, MCOError, Unavailable

APPLICATION_ID = 0x6D636F31
SCHEMA_VERSION = 1
BUSY_SECONDS = 5.0

_SCHEMA = """
CREATE TABLE revision (
    rv INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    change INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX revision_key ON revision (resource, namespace, name, rv);
CREATE TABLE current (
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    rv INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
CREATE TABLE compacted (rv INTEGER NOT NULL);
INSERT INTO compacted VALUES (0);
"""


def lock(folder: Path) -> int:
    """Takes the folder for this process; the lock ends with the returned descriptor.

    Raises Conflict when another server has it."""
    path = folder / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        raise Conflict(
            "another API server uses this data folder",
            path=str(folder),
            hint="stop it, or choose another --data-dir",
        ) from error
    return descriptor


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in WAL mode whose commits are on disk when they return."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    if read_only:
        connection.execute("PRAGMA query_only=ON")
    return connection


def prepare(path: Path) -> None:
    """Makes the database where missing and checks it where present.

    Raises InvalidInput for a damaged file or one of another program, Unavailable for a locked one."""
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = connect(path)
        try:
            _check(connection, path)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not tables:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id={APPLICATION_ID};"
            f"PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
        )
    elif application != APPLICATION_ID:
        raise InvalidInput("the file is a database of another program", path=str(path))
    elif version != SCHEMA_VERSION:
        raise InvalidInput(
            f"the database has layout {version}, this program knows {SCHEMA_VERSION}",
            path=str(path),
            hint="use the version of mco that wrote it",
        )
    elif (verdict := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise InvalidInput(f"the database is damaged: {verdict}", path=str(path), hint=_RESTORE)


_RESTORE = "restore the data folder from a copy, or start with an empty one"


def explain(error: sqlite3.Error, path: Path) -> MCOError:
    """What a person needs to know about an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return InvalidInput(f"the database is damaged: {error}", path=str(path), hint=_RESTORE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("another program holds the database's lock", path=str(path), hint="end it")
    if code == sqlite3.SQLITE_FULL:
        return Unavailable("no space is left for the database", path=str(path), hint="free disk space")
    return Unavailable(f"the database cannot be used: {error}", path=str(path))
