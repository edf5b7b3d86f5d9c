"""Opening the data folder's database: one server at a time, checked before use."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from pathlib import Path

from mco.apiserver.store import soundness
from mco.base.errors import Conflict, InvalidInput, MCOError, Unavailable
from mco.pki import files

APPLICATION_ID = 0x6D636F31
SCHEMA_VERSION = 2
BUSY_SECONDS = 5.0

_SCHEMA = """
CREATE TABLE revision (
    rv INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    change INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    data BLOB NOT NULL,
    checksum INTEGER NOT NULL
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
        if path.exists():
            _check(path)
        else:
            _make(path)
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _make(path: Path) -> None:
    """Whole or not at all: a database that exists has its tables."""
    if soundness.log_of(path).exists():
        # SQLite would replay it into whatever stands beside it.
        raise soundness.damaged("the file is gone, its log is not", path)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.executescript(
            f"BEGIN; {_SCHEMA} PRAGMA application_id={APPLICATION_ID};"
            f"PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
        )
    draft.rename(path)
    files.sync_folder(path.parent)


def _check(path: Path) -> None:
    if not path.stat().st_size:
        raise soundness.damaged("the file is empty", path)
    # Read-only: what is refused stays as it is.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION_ID:
            raise InvalidInput("the file is a database of another program", path=str(path))
        if version != SCHEMA_VERSION:
            raise InvalidInput(
                f"the database has layout {version}, this program knows {SCHEMA_VERSION}",
                path=str(path),
                hint="use the version of mco that wrote it",
            )
        soundness.check(connection, path)


def explain(error: sqlite3.Error, path: Path) -> MCOError:
    """What a person needs to know about an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return soundness.damaged(error, path)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("another program holds the database's lock", path=str(path), hint="end it")
    if code == sqlite3.SQLITE_FULL:
        return Unavailable("no space is left for the database", path=str(path), hint="free disk space")
    return Unavailable(f"the database cannot be used: {error}", path=str(path))
