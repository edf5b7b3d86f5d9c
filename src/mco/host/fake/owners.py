"""Owners and modes of a directory-rooted host whose process is not root.

What only root may do is written to a side table instead, by inode: `chown` to anybody, and modes with which
we could not read our own files any more. Files that are not in the table and belong to the running user
count as root's. The table is append-only and read on, so that several processes may share it.
"""

from __future__ import annotations

import os
import stat as st
from contextlib import suppress
from pathlib import Path

from mco.host.effects import Effects

_Entry = tuple[int | None, int, int]
_NONE: _Entry = (None, 0, 0)


class OwnerTable(Effects):
    def __init__(self, table: Path) -> None:
        self._file = table
        self._entries: dict[int, _Entry] = {}
        self._offset = 0
        self._me = os.geteuid()

    def create(self, folder: int, name: str, mode: int) -> int:
        fd = super().create(folder, name, mode)
        self._set(os.fstat(fd).st_ino, _NONE)
        return fd

    def append_to(self, folder: int, name: str, mode: int) -> int:
        return super().append_to(folder, name, mode | 0o600)

    def chmod(self, fd: int, mode: int) -> None:
        status = os.fstat(fd)
        needed = 0o700 if st.S_ISDIR(status.st_mode) else 0o600
        super().chmod(fd, mode | needed)
        _, uid, gid = self._get(status.st_ino)
        self._set(status.st_ino, (None if mode | needed == mode else mode, uid, gid))

    def chown(self, fd: int, uid: int, gid: int) -> None:
        self._own(os.fstat(fd).st_ino, uid, gid)

    def chown_link(self, folder: int, name: str, uid: int, gid: int) -> None:
        self._own(_inode(folder, name), uid, gid)

    def set_xattr(self, fd: int, name: str, value: bytes) -> None:
        if name.startswith("user."):
            super().set_xattr(fd, name, value)

    def rename(self, folder: int, old: str, new: str) -> None:
        replaced = 0
        with suppress(OSError):
            replaced = _inode(folder, new)
        super().rename(folder, old, new)
        self._set(replaced, _NONE)

    def symlink(self, folder: int, name: str, target: str) -> None:
        super().symlink(folder, name, target)
        self._set(_inode(folder, name), _NONE)

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        super().mkdir(folder, name, mode | 0o700)
        self._set(_inode(folder, name), _NONE)

    def unlink(self, folder: int, name: str) -> None:
        inode = _inode(folder, name)
        super().unlink(folder, name)
        self._set(inode, _NONE)

    def rmdir(self, folder: int, name: str) -> None:
        inode = _inode(folder, name)
        super().rmdir(folder, name)
        self._set(inode, _NONE)

    def metadata(self, status: os.stat_result) -> tuple[int, int, int]:
        mode, uid, gid = self._get(status.st_ino)
        full = status.st_mode if mode is None else st.S_IFMT(status.st_mode) | mode
        if (mode, uid, gid) == _NONE and status.st_uid != self._me:
            return full, status.st_uid, status.st_gid
        return full, uid, gid

    def _own(self, inode: int, uid: int, gid: int) -> None:
        mode, old_uid, old_gid = self._get(inode)
        self._set(inode, (mode, old_uid if uid == -1 else uid, old_gid if gid == -1 else gid))

    def _get(self, inode: int) -> _Entry:
        self._read_on()
        return self._entries.get(inode, _NONE)

    def _set(self, inode: int, entry: _Entry) -> None:
        if self._get(inode) == entry:
            return
        mode, uid, gid = entry
        line = f"{inode} {-1 if mode is None else mode} {uid} {gid}\n"
        fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def _read_on(self) -> None:
        try:
            size = self._file.stat().st_size
        except FileNotFoundError:
            return
        if size <= self._offset:
            return
        with self._file.open("rb") as table:
            table.seek(self._offset)
            data = table.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            inode, mode, uid, gid = (int(word) for word in line.split())
            self._entries[inode] = (None if mode < 0 else mode, uid, gid)


def _inode(folder: int, name: str) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
