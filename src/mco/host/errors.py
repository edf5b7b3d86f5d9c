"""What a machine answers when it refuses: the system error of a file, the output of a command.

Messages have the form `write /etc/motd: no space left on device`: operation, path, system error in lower
case, which is also how the original words them, so that scripts that match them keep working.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mco.base.errors import HostError

_HINTS = {
    errno.ENOSPC: "free some space on this file system; the operation is tried again",
    errno.EDQUOT: "raise the quota or free some space; the operation is tried again",
    errno.EROFS: "mount the file system writable; the operation is tried again",
    errno.ENOTDIR: "a part of the path is a file and not a directory",
    errno.EISDIR: "a directory is in the way",
    errno.ENAMETOOLONG: "one name may have 255 bytes and a path 4096",
    errno.ELOOP: "symbolic links on the way lead in a circle",
    errno.EXDEV: "the path leaves the root through a link of the kernel's",
}


class FileError(HostError):
    """A file operation failed; `errno` is the system's number, `path` the path below the root."""

    def __init__(self, message: str, *, path: str, number: int = 0, hint: str = "") -> None:
        super().__init__(message, path=path, hint=hint)
        self.errno = number


class CommandError(HostError):
    """A command failed; `argv` is what was run, `status` its exit status (-N: killed by signal N, None: it
    did not start or ran out of time), `stderr` its trimmed output. The message is replayable in a shell."""

    def __init__(
        self, message: str, *, argv: Sequence[str], status: int | None, stderr: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, subject=argv[0], hint=hint)
        self.argv = tuple(argv)
        self.status = status
        self.stderr = stderr


def printable(path: str) -> str:
    """A path for a person: bytes that are not UTF-8 and control characters become escapes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def system_text(number: int) -> str:
    text = os.strerror(number)
    return text[:1].lower() + text[1:]


@contextmanager
def system_errors(verb: str, path: str, hint: str = "") -> Iterator[None]:
    """Turns an OSError of the block into a FileError that names operation and path."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        message = f"{verb} {printable(path)}: {system_text(number) if number else error}"
        raise FileError(message, path=path, number=number, hint=hint or _HINTS.get(number, "")) from error
