"""Reading below an open root directory. `root.py` adds the writing and says what both promise."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat as st
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import msgspec

from mco.host.effects import Effects
from mco.host.errors import FileError, printable, system_errors
from mco.host.paths import ancestors, checked
from mco.host.resolve import Resolver, best

Owner = tuple[int, int]
READ_LIMIT = 64 << 20
FOLDER = os.O_RDONLY | os.O_DIRECTORY
_CHUNK = 1 << 20
_FS_IOC_GETFLAGS = 0x80086601
_FS_IMMUTABLE, _FS_APPEND = 0x10, 0x20


class Stat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """As lstat: of the link itself where the path is one. `mode` has the type bits; `target` is a link's."""

    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    inode: int
    target: str = ""

    @property
    def is_file(self) -> bool:
        return st.S_ISREG(self.mode)

    @property
    def is_dir(self) -> bool:
        return st.S_ISDIR(self.mode)

    @property
    def is_symlink(self) -> bool:
        return st.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int:
        """Without the type bits: 0o644, 0o4755."""
        return st.S_IMODE(self.mode)

    @property
    def owner(self) -> Owner:
        return self.uid, self.gid


class Tree:
    """Raises InvalidInput for paths that are relative or contain `..` or a NUL, and FileError (a HostError)
    with path and system error for whatever the system refuses."""

    def __init__(
        self, path: str | Path = "/", *, effects: Effects | None = None, resolver: Resolver | None = None
    ) -> None:
        self.path = str(path)
        self.effects = effects or Effects()
        self._resolve = resolver or best()
        with system_errors("open root", self.path):
            self._fd = os.open(path, FOLDER | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def below(self, path: str) -> Self:
        """A directory as a root of its own: links in it lead nowhere outside of it. For places where somebody
        else may write, as a user's home."""
        child = type(self).__new__(type(self))
        child.path = os.path.join(self.path, checked(path).lstrip("/"))
        child.effects, child._resolve = self.effects, self._resolve
        with system_errors("open", path):
            child._fd = self._resolve(self._fd, checked(path), FOLDER)
        return child

    def stat(self, path: str) -> Stat | None:
        """None when nothing is there, also when a parent is a file."""
        try:
            with self._opened(path, os.O_PATH | os.O_NOFOLLOW) as fd:
                status = os.fstat(fd)
                target = os.readlink("", dir_fd=fd) if st.S_ISLNK(status.st_mode) else ""
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            self._raise("stat", path, error)
        mode, uid, gid = self.effects.metadata(status)
        return Stat(
            mode=mode,
            uid=uid,
            gid=gid,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            inode=status.st_ino,
            target=target,
        )

    def exists(self, path: str) -> bool:
        return self.stat(path) is not None

    def read(self, path: str, limit: int = READ_LIMIT, *, follow: bool = True) -> bytes:
        """Contents of a regular file of at most `limit` bytes; a longer one is an error."""
        with self._reading(path, follow) as fd:
            data = b"".join(chunks(fd, limit + 1))
        if len(data) > limit:
            raise FileError(f"read {printable(path)}: more than {limit} bytes", path=path, number=errno.EFBIG)
        return data

    def read_text(self, path: str, limit: int = READ_LIMIT) -> str:
        """As UTF-8; other bytes become surrogates and survive being written back."""
        return os.fsdecode(self.read(path, limit))

    def read_optional(self, path: str, limit: int = READ_LIMIT) -> bytes | None:
        """None when nothing is there."""
        try:
            return self.read(path, limit)
        except FileError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted; a missing directory has none."""
        try:
            with self._opened(path, FOLDER) as fd:
                return sorted(os.listdir(fd))
        except OSError as error:
            if error.errno == errno.ENOENT:
                return []
            self._raise("list", path, error)

    def walk(self, path: str) -> Iterator[tuple[str, Stat]]:
        """The path and everything below it, parents before children, links not followed."""
        status = self.stat(path)
        if status is None:
            return
        yield path, status
        if status.is_dir:
            for name in self.list(path):
                yield from self.walk(f"{path.rstrip('/')}/{name}")

    def xattrs(self, path: str) -> dict[str, bytes]:
        """Extended attributes of a file or directory (labels, capabilities, access lists)."""
        with self._reading(path, False) as fd:
            return xattrs_of(fd)

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        fd = self._resolve(self._fd, checked(path), flags)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _reading(self, path: str, follow: bool) -> Iterator[int]:
        """A regular file or a directory, open for reading. Anything else is refused: opening a pipe or a
        device may block or have effects."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
        try:
            with self._opened(path, flags) as fd:
                kind = os.fstat(fd).st_mode
                if not (st.S_ISREG(kind) or st.S_ISDIR(kind)):
                    raise FileError(f"read {printable(path)}: not a regular file", path=path)
                yield fd
        except OSError as error:
            self._raise("read", path, error)

    def _raise(self, verb: str, path: str, error: OSError) -> NoReturn:
        hint = ""
        if error.errno == errno.EPERM:
            hint = self._immutable_hint(path)
        elif error.errno == errno.ENOENT:
            hint = self._dangling_hint(path)
        with system_errors(verb, path, hint):
            raise error
        raise AssertionError("system_errors lets no OSError pass")

    def _dangling_hint(self, path: str) -> str:
        """A link on the way that leads to nothing, as one that leads out of the root does."""
        for place in (*ancestors(path), path):
            status = self.stat(place)
            if status is not None and status.is_symlink and not self._leads_somewhere(place):
                target = printable(status.target)
                return f"the link {printable(place)} leads to {target}, which is not below the root"
        return ""

    def _leads_somewhere(self, path: str) -> bool:
        with suppress(OSError), self._opened(path, os.O_PATH):
            return True
        return False

    def _immutable_hint(self, path: str) -> str:
        """EPERM for root nearly always is the immutable or append-only flag, of the file or of its folder."""
        for place in (path, path.rpartition("/")[0] or "/"):
            with suppress(OSError), self._opened(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW) as fd:
                if is_immutable(fd):
                    return (
                        f"it is immutable; allow changes with: chattr -i -a {shlex.quote(printable(place))}"
                    )
        return ""


def chunks(fd: int, limit: int | None = None) -> Iterator[bytes]:
    """What is left to read of a file, at most `limit` bytes."""
    left = limit
    while left is None or left > 0:
        chunk = os.read(fd, _CHUNK if left is None else min(_CHUNK, left))
        if not chunk:
            return
        yield chunk
        if left is not None:
            left -= len(chunk)


def xattrs_of(fd: int) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENODATA):
            return {}
        raise


def is_immutable(fd: int) -> bool:
    """Whether a file or directory has the immutable or append-only flag (`lsattr`). Raises OSError where the
    file system has no such flags."""
    flags = array("L", [0])
    fcntl.ioctl(fd, _FS_IOC_GETFLAGS, flags)
    return bool(flags[0] & (_FS_IMMUTABLE | _FS_APPEND))
