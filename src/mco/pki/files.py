"""Secret files: private from the first byte, replaced whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def private_folder(path: Path) -> Path:
    """Makes `path` and its parents where missing; `path` itself is 0700 afterwards."""
    path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    path.chmod(PRIVATE_FOLDER)
    return path


def write(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replaces `path` atomically and durably: a reader and a crash see the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def identity(path: Path) -> tuple[int, int, int]:
    """Changes when the file is written, replaced, or when a link to it is switched over; zeros for none."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
