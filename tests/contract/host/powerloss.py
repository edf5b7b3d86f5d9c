"""A model of a disk beside the real one: what a loss of power may leave after every single change.

It believes in nothing but `sync`. Contents that were not synced may be there, gone, torn or zeros, under
whatever name; names that were not synced may be the old or the new ones, each by itself; a folder's names and
a file's contents are synced by a sync of themselves only.
"""

from __future__ import annotations

import os
import stat as st
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from mco.host.effects import Effects


class Entry(NamedTuple):
    """One file, folder or link of a tree; `mode` has the type bits."""

    mode: int
    owner: tuple[int, int]
    target: str = ""
    data: bytes = b""


Tree = dict[str, Entry]
"""By path below the root; the root itself is the empty path."""


@dataclass
class _Node:
    mode: int
    owner: tuple[int, int]
    target: str = ""
    data: bytes = b""
    names: dict[str, int] = field(default_factory=dict)

    def copy(self) -> _Node:
        return replace(self, names=dict(self.names))


_Change = tuple[int, Callable[[dict[str, int]], None]]
_Contents = Callable[[_Node, _Node], bytes]

# From what is there and what is synced to what may be found.
_CONTENTS: dict[str, _Contents] = {
    "kept": lambda now, synced: now.data,
    "dropped": lambda now, synced: synced.data,
    "torn": lambda now, synced: now.data[: (len(now.data) + len(synced.data)) // 2],
    "zeros": lambda now, synced: synced.data + bytes(max(len(now.data) - len(synced.data), 0)),
}


class PowerLoss(Effects):
    """`lost(n, variant, tree)` is called with each tree that a loss of power after change `n` may leave.
    `foreign` is set while a program runs that does not sync the names that it changes."""

    def __init__(self, root: Path, lost: Callable[[int, str, Tree], None]) -> None:
        self.changes = 0
        self.foreign = False
        self._lost = lost
        self._now: dict[int, _Node] = {}
        self._synced: dict[int, _Node] = {}
        self._keys: dict[int, int] = {}
        self._pending: list[_Change] = []
        self._root = self._load(root)

    # The system calls

    def create(self, folder: int, name: str, mode: int) -> int:
        fd = super().create(folder, name, mode)
        self._put(folder, name, self._new(os.fstat(fd)))
        return fd

    def append_to(self, folder: int, name: str, mode: int) -> int:
        missing = not os.access(name, os.F_OK, dir_fd=folder, follow_symlinks=False)
        fd = super().append_to(folder, name, mode)
        if missing:
            self._put(folder, name, self._new(os.fstat(fd)))
        return fd

    def write(self, fd: int, data: bytes) -> None:
        super().write(fd, data)
        self._now[self._key(fd)].data += data
        self._changed()

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        node = self._now[self._key(fd)]
        node.data = node.data[:size]
        self._changed()

    def chmod(self, fd: int, mode: int) -> None:
        super().chmod(fd, mode)
        self._meta(fd)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        super().chown(fd, uid, gid)
        self._meta(fd)

    def chown_link(self, folder: int, name: str, uid: int, gid: int) -> None:
        super().chown_link(folder, name, uid, gid)
        key = self._now[self._key(folder)].names[name]
        self._now[key].owner = self._synced[key].owner = (uid, gid)
        self._changed()

    def sync(self, fd: int) -> None:
        super().sync(fd)
        key = self._key(fd)
        if self.foreign and st.S_ISDIR(self._now[key].mode):
            return
        self._synced[key] = self._now[key].copy()
        self._pending = [change for change in self._pending if change[0] != key]
        self._changed()

    def rename(self, folder: int, old: str, new: str) -> None:
        super().rename(folder, old, new)

        def moved(names: dict[str, int]) -> None:
            if old in names:
                names[new] = names.pop(old)

        self._name(folder, moved)

    def symlink(self, folder: int, name: str, target: str) -> None:
        super().symlink(folder, name, target)
        self._put(folder, name, self._new(_status(folder, name), target))

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        super().mkdir(folder, name, mode)
        self._put(folder, name, self._new(_status(folder, name)))

    def unlink(self, folder: int, name: str) -> None:
        super().unlink(folder, name)
        self._forget(folder, name)

    def rmdir(self, folder: int, name: str) -> None:
        super().rmdir(folder, name)
        self._forget(folder, name)

    # The model

    def _load(self, path: Path) -> int:
        status = path.lstat()
        if path.is_symlink():
            return self._new(status, os.readlink(path))
        key = self._new(status)
        for node in (self._now[key], self._synced[key]):
            if path.is_dir():
                node.names = {}
            else:
                node.data = path.read_bytes()
        if path.is_dir():
            names = {child.name: self._load(child) for child in path.iterdir()}
            self._now[key].names, self._synced[key].names = names, dict(names)
        return key

    def _new(self, status: os.stat_result, target: str = "") -> int:
        key = len(self._now)
        self._keys[status.st_ino] = key
        node = _Node(status.st_mode, (status.st_uid, status.st_gid), target)
        self._now[key], self._synced[key] = node, node.copy()
        return key

    def _key(self, fd: int) -> int:
        return self._keys[os.fstat(fd).st_ino]

    def _meta(self, fd: int) -> None:
        status = os.fstat(fd)
        node = self._now[self._key(fd)]
        node.mode, node.owner = status.st_mode, (status.st_uid, status.st_gid)
        self._changed()

    def _put(self, folder: int, name: str, key: int) -> None:
        def put(names: dict[str, int]) -> None:
            names[name] = key

        self._name(folder, put)

    def _forget(self, folder: int, name: str) -> None:
        def forget(names: dict[str, int]) -> None:
            names.pop(name, None)

        self._name(folder, forget)

    def _name(self, folder: int, change: Callable[[dict[str, int]], None]) -> None:
        key = self._key(folder)
        change(self._now[key].names)
        self._pending.append((key, change))
        self._changed()

    def _changed(self) -> None:
        self.changes += 1
        for variant, tree in self.trees():
            self._lost(self.changes, variant, tree)

    # What may be left

    def trees(self) -> Iterator[tuple[str, Tree]]:
        everything = self._pending
        for contents in _CONTENTS:
            yield f"names kept, contents {contents}", self._tree(everything, contents)
        yield "names dropped, contents dropped", self._tree([], "dropped")
        yield "names dropped, contents kept", self._tree([], "kept")
        if len(everything) < 2:
            return
        for number, change in enumerate(everything):
            without = [*everything[:number], *everything[number + 1 :]]
            yield f"only name {number} kept", self._tree([change], "dropped")
            yield f"only name {number} dropped", self._tree(without, "dropped")

    def _tree(self, changes: list[_Change], contents: str) -> Tree:
        names = {key: node.names for key, node in self._synced.items() if node.names}
        for key, change in changes:
            names[key] = dict(names.get(key, {}))
            change(names[key])
        found: Tree = {}
        self._walk(self._root, "", names, contents, found)
        return found

    def _walk(
        self, key: int, path: str, names: dict[int, dict[str, int]], contents: str, found: Tree
    ) -> None:
        now, synced = self._now[key], self._synced[key]
        shown = synced if contents == "dropped" else now
        data = _CONTENTS[contents](now, synced)
        found[path] = Entry(shown.mode, shown.owner, shown.target, data)
        for name, child in names.get(key, {}).items():
            self._walk(child, f"{path}/{name}", names, contents, found)


def _status(folder: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def build(tree: Tree, folder: Path) -> None:
    """Makes a tree real in a folder that does not exist yet."""
    for path, entry in tree.items():
        place = f"{folder}{path}"
        if st.S_ISDIR(entry.mode):
            os.mkdir(place)
        elif st.S_ISLNK(entry.mode):
            os.symlink(entry.target, place)
        else:
            Path(place).write_bytes(entry.data)
        os.chown(place, *entry.owner, follow_symlinks=False)
        if not st.S_ISLNK(entry.mode):
            os.chmod(place, st.S_IMODE(entry.mode))
