"""What was at a path before a change, as a value from which it can be made again."""

from __future__ import annotations

import stat as st
from typing import Literal

import msgspec

from mco.host.errors import FileError, printable
from mco.host.paths import ancestors, checked
from mco.host.root import Owner, Root, Stat

LIMIT = 256 << 20


class PreImage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`mode` is without type bits. `made` are the parents that did not exist, topmost first: the change makes
    them and restoring an absence takes them away again where they are empty."""

    path: str
    kind: Literal["absent", "file", "link", "folder"] = "absent"
    mode: int = 0
    owner: Owner = (0, 0)
    mtime_ns: int = 0
    target: str = ""
    data: bytes = b""
    xattrs: dict[str, bytes] = {}
    made: tuple[str, ...] = ()


def capture(root: Root, path: str) -> PreImage:
    """Raises FileError for devices, sockets and pipes, which cannot be kept, and for files above 256 MiB."""
    path = checked(path)
    status = root.stat(path)
    if status is None:
        return PreImage(path=path, made=tuple(p for p in ancestors(path) if not root.exists(p)))
    if status.is_symlink:
        return PreImage(path=path, kind="link", owner=status.owner, target=status.target)
    if not (status.is_file or status.is_dir):
        kind = st.filemode(status.mode)[0]
        raise FileError(
            f"keep {printable(path)}: neither a file, a link nor a directory (type {kind})",
            path=path,
            hint="remove it by hand if it is not needed",
        )
    return PreImage(
        path=path,
        kind="file" if status.is_file else "folder",
        mode=status.permissions,
        owner=status.owner,
        mtime_ns=status.mtime_ns,
        data=root.read(path, LIMIT, follow=False) if status.is_file else b"",
        xattrs=root.xattrs(path),
    )


def restore(root: Root, image: PreImage) -> None:
    """Makes the path what it was. May be repeated, and continued after a crash. What is so already is left
    alone: it may be the very file that could not be changed."""
    path = image.path
    status = root.stat(path)
    if status is not None and _is(root, status, image):
        return
    if image.kind == "absent":
        if status is not None and status.is_dir:
            root.remove_tree(path)
        else:
            root.remove(path)
        _remove_empty(root, image.made)
    elif image.kind == "folder":
        if status is not None and not status.is_dir:
            root.remove(path)
        root.mkdir(path, image.mode, image.owner)
        root.set_owner_and_mode(path, image.mode, image.owner)
    else:
        if status is not None and status.is_dir:
            root.remove_tree(path)
        if image.kind == "link":
            root.symlink(path, image.target, owner=image.owner)
        else:
            root.write(
                path,
                image.data,
                mode=image.mode,
                owner=image.owner,
                mtime_ns=image.mtime_ns,
                xattrs=image.xattrs,
            )


def _is(root: Root, status: Stat, image: PreImage) -> bool:
    """Whether the path still is, or is again, what it was."""
    known = status.is_file or status.is_dir or status.is_symlink
    return known and image.kind != "absent" and capture(root, image.path) == image


def _remove_empty(root: Root, folders: tuple[str, ...]) -> None:
    """Somebody else's file in a folder that we made keeps the folder."""
    for folder in reversed(folders):
        status = root.stat(folder)
        if status is not None and status.is_dir and not root.list(folder):
            root.remove(folder)
