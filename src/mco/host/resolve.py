"""Opens a path below a directory in such a way that no symbolic link on the way leads out of it.

A config names paths, the disk below a host root is not ours, and whoever can write there (a user in their
home, an image) could lay a link to `/etc` of the container that the daemon runs in. The kernel resolves paths
as if the directory were the root (`openat2` with RESOLVE_IN_ROOT, Linux 5.6); where it cannot, a walk opens
component by component without following links and interprets the links itself. Both are safe against a
directory being exchanged for a link in the meantime: nothing is looked up twice by name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections import deque
from collections.abc import Callable

from mco.base.errors import Unsupported

Resolver = Callable[[int, str, int], int]
"""(directory descriptor, path, open flags) -> descriptor. Raises OSError."""

_OPENAT2 = 437
_RESOLVE_IN_ROOT = 0x10
_RETRIES = 128
_MAX_LINKS = 40
_O_PATH = getattr(os, "O_PATH", 0)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)


def openat2(folder: int, path: str, flags: int) -> int:
    """By the kernel. It answers EAGAIN when a rename elsewhere raced with `..`: then it is tried again."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    for _ in range(_RETRIES):
        fd = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


def walk(folder: int, path: str, flags: int) -> int:
    """By hand, for kernels and sandboxes without openat2. Every open directory stays open until the end, so
    that `..` goes back to where we came from and not to where the directory was moved."""
    opened = [os.open(".", _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)]
    try:
        return _walk(opened, deque(path.split("/")), flags | os.O_CLOEXEC)
    finally:
        for fd in opened:
            os.close(fd)


def _walk(opened: list[int], todo: deque[str], flags: int) -> int:
    links = 0
    while todo:
        part = todo.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            if len(opened) > 1:
                os.close(opened.pop())
            continue
        last = not any(rest not in ("", ".") for rest in todo)
        target = _link_target(opened[-1], part)
        if target is None or (last and flags & os.O_NOFOLLOW):
            if last:
                return os.open(part, flags | os.O_NOFOLLOW, dir_fd=opened[-1])
            opened.append(
                os.open(part, _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened[-1])
            )
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part)
        if target.startswith("/"):
            while len(opened) > 1:
                os.close(opened.pop())
        todo.extendleft(reversed(target.split("/")))
    return os.open(".", flags & ~os.O_NOFOLLOW, dir_fd=opened[-1])


def _link_target(folder: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def best() -> Resolver:
    """openat2 where it works, otherwise the walk. A sandbox that does not know the call answers EPERM."""
    if not _O_PATH:
        raise Unsupported(
            f"this system ({platform.system()}) cannot resolve paths below a root", hint="run it on Linux"
        )
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(openat2(here, ".", _O_PATH))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            return walk
        raise
    finally:
        os.close(here)
    return openat2
