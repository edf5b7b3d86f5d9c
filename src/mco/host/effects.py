"""Every change that the host layer makes to a file system, one system call each.

Nothing else under `host/` creates, writes, renames, syncs or removes anything, so that a subclass sees all of
it: a recorder (to rebuild what a power loss would leave), an injector of faults, or the side table of owners
of a directory-rooted host. `folder` is the descriptor of an open directory, `name` one path component in it;
`fd` is a file that `create` or `append_to` returned, or a directory.
"""

from __future__ import annotations

import os

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Effects:
    """The system calls as they are. Each raises OSError."""

    def create(self, folder: int, name: str, mode: int) -> int:
        """A new regular file; fails when the name exists, whatever it is."""
        return os.open(name, _NEW, mode, dir_fd=folder)

    def append_to(self, folder: int, name: str, mode: int) -> int:
        """A file to append to, made when missing; fails on a symbolic link."""
        return os.open(name, _APPEND, mode, dir_fd=folder)

    def write(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        os.fchown(fd, uid, gid)

    def chown_link(self, folder: int, name: str, uid: int, gid: int) -> None:
        """Of the symbolic link itself."""
        os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)

    def set_xattr(self, fd: int, name: str, value: bytes) -> None:
        os.setxattr(fd, name, value)

    def set_mtime(self, fd: int, nanoseconds: int) -> None:
        os.utime(fd, ns=(nanoseconds, nanoseconds))

    def sync(self, fd: int) -> None:
        """File contents and metadata, or the names in a directory, are on the disk when this returns."""
        os.fsync(fd)

    def rename(self, folder: int, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def symlink(self, folder: int, name: str, target: str) -> None:
        os.symlink(target, name, dir_fd=folder)

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        os.mkdir(name, mode, dir_fd=folder)

    def unlink(self, folder: int, name: str) -> None:
        os.unlink(name, dir_fd=folder)

    def rmdir(self, folder: int, name: str) -> None:
        os.rmdir(name, dir_fd=folder)

    def metadata(self, status: os.stat_result) -> tuple[int, int, int]:
        """Mode with type bits, uid and gid. No effect, but the other side of `chmod` and `chown`."""
        return status.st_mode, status.st_uid, status.st_gid
