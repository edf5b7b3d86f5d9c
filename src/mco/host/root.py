"""Files of one machine, named by absolute paths below an open root directory.

The root is `/` on the machine itself, the mounted host root in a container, or any folder. Links on the way
are followed as the machine itself would (an absolute link starts at the root), and never out of the root
(`resolve.py`). Writes never follow the last component: a symbolic link at the path is replaced by the file
(spec/daemon.md 6.8). A file appears under its name only complete and synced, with mode and owner, or not at
all; the name itself is synced as well, so that what returned survives a loss of power.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat as st
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from mco.host.errors import FileError, printable, system_errors
from mco.host.paths import checked, split
from mco.host.tree import FOLDER, Owner, Stat, Tree, chunks, xattrs_of

__all__ = ["ROOT_OWNER", "Owner", "Root", "Stat"]

ROOT_OWNER: Owner = (0, 0)

_TEMPORARY = re.compile(r"\..*\.mcd-[0-9a-f]{12}", re.DOTALL)
_NAME_MAX = 255


class Root(Tree):
    """All files of the machine, to read and to write."""

    def write(
        self,
        path: str,
        data: bytes,
        *,
        mode: int = 0o644,
        owner: Owner | None = ROOT_OWNER,
        dir_mode: int = 0o755,
        mtime_ns: int | None = None,
        xattrs: Mapping[str, bytes] | None = None,
    ) -> None:
        """Replaces whatever file or link is at the path. Missing parents are made with `dir_mode` and owner
        0:0; existing ones stay as they are. `owner` None leaves the file to whoever runs this."""

        def fill(fd: int) -> None:
            self.effects.write(fd, data)

        self._replace(path, fill, _Metadata(mode, owner, mtime_ns, xattrs or {}), dir_mode)

    def copy(self, source: str, target: str, *, dir_mode: int = 0o755) -> None:
        """File or link with mode, owner, time and extended attributes, as `cp -a`; contents are streamed."""
        status = self.stat(source)
        if status is not None and status.is_symlink:
            self.symlink(target, status.target, owner=status.owner, dir_mode=dir_mode)
            return
        with self._reading(source, False) as original:

            def fill(fd: int) -> None:
                for chunk in chunks(original):
                    self.effects.write(fd, chunk)

            found = os.fstat(original)
            mode, *owner = self.effects.metadata(found)
            meta = _Metadata(st.S_IMODE(mode), (owner[0], owner[1]), found.st_mtime_ns, xattrs_of(original))
            self._replace(target, fill, meta, dir_mode)

    def symlink(
        self, path: str, target: str, *, owner: Owner | None = ROOT_OWNER, dir_mode: int = 0o755
    ) -> None:
        """Replaces whatever file or link is at the path. The target is stored as given, never looked at."""
        if "\0" in target or not target:
            raise FileError(f"symlink {printable(path)}: target is empty or has a NUL", path=path)
        with self._changing("symlink", path, dir_mode) as (folder, name):
            temporary = _temporary(name)
            self.effects.symlink(folder, temporary, target)
            try:
                if owner is not None:
                    self.effects.chown_link(folder, temporary, *owner)
                self.effects.rename(folder, temporary, name)
            except BaseException:
                with suppress(OSError):
                    self.effects.unlink(folder, temporary)
                raise
            self.effects.sync(folder)

    def mkdir(self, path: str, mode: int = 0o755, owner: Owner | None = ROOT_OWNER) -> None:
        """With missing parents, which get the same mode and owner; an existing directory stays as it is."""
        try:
            os.close(self._folder(checked(path), mode, owner))
        except OSError as error:
            self._raise("mkdir", path, error)

    def set_owner_and_mode(self, path: str, mode: int, owner: Owner | None) -> None:
        """Of an existing file or directory; a link at the path is an error."""
        with self._reading(path, False) as fd, system_errors("chmod", path):
            if owner is not None:
                self.effects.chown(fd, *owner)
            self.effects.chmod(fd, mode)
            self.effects.sync(fd)

    def remove(self, path: str) -> bool:
        """A file, link or empty directory. False when nothing was there."""
        status = self.stat(path)
        if status is None:
            return False
        with self._changing("remove", path, None) as (folder, name):
            try:
                (self.effects.rmdir if status.is_dir else self.effects.unlink)(folder, name)
            except FileNotFoundError:
                return False
            self.effects.sync(folder)
        return True

    def remove_tree(self, path: str) -> None:
        """A directory with all that is in it, links not followed."""
        for found, _ in reversed(list(self.walk(checked(path)))):
            self.remove(found)

    def append(self, path: str, mode: int = 0o600, dir_mode: int = 0o700) -> int:
        """Descriptor of a file to append to through `effects`; made (and its name synced) when missing."""
        with self._changing("open", path, dir_mode) as (folder, name):
            missing = not _has(folder, name)
            fd = self.effects.append_to(folder, name, mode)
            if missing:
                self.effects.chmod(fd, mode)
                self.effects.sync(folder)
            return fd

    def sync_folder(self, path: str) -> None:
        """Names in a directory that something else (systemctl) changed are on the disk after this."""
        try:
            with self._opened(path, FOLDER) as fd:
                self.effects.sync(fd)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._raise("sync", path, error)

    def sweep(self, folder: str) -> list[str]:
        """Removes what writers that crashed left in a directory, and returns the paths. Only to be called
        while nobody else writes there."""
        left = [f"{folder.rstrip('/')}/{name}" for name in self.list(folder) if _TEMPORARY.fullmatch(name)]
        return [path for path in left if self.remove(path)]

    # Mechanics

    def _replace(self, path: str, fill: Callable[[int], None], meta: _Metadata, dir_mode: int) -> None:
        with self._changing("write", path, dir_mode) as (folder, name):
            temporary = _temporary(name)
            fd = self.effects.create(folder, temporary, 0o600)
            try:
                try:
                    self.effects.chmod(fd, meta.mode)
                    fill(fd)
                    self._finish(fd, meta)
                finally:
                    os.close(fd)
                self.effects.rename(folder, temporary, name)
            except BaseException:
                with suppress(OSError):
                    self.effects.unlink(folder, temporary)
                raise
            self.effects.sync(folder)

    def _finish(self, fd: int, meta: _Metadata) -> None:
        if meta.owner is not None:
            self.effects.chown(fd, *meta.owner)
            if meta.mode & (st.S_ISUID | st.S_ISGID):
                self.effects.chmod(fd, meta.mode)  # changing the owner clears these bits
        for key, value in meta.xattrs.items():
            self.effects.set_xattr(fd, key, value)
        if meta.mtime_ns is not None:
            self.effects.set_mtime(fd, meta.mtime_ns)
        self.effects.sync(fd)

    @contextmanager
    def _changing(self, verb: str, path: str, dir_mode: int | None) -> Iterator[tuple[int, str]]:
        """The open parent directory and the last component; parents are made unless `dir_mode` is None."""
        folder, name = split(path)
        try:
            fd = (
                self._resolve(self._fd, folder, FOLDER)
                if dir_mode is None
                else self._folder(folder, dir_mode, ROOT_OWNER)
            )
            try:
                yield fd, name
            finally:
                os.close(fd)
        except OSError as error:
            self._raise(verb, path, error)

    def _folder(self, path: str, mode: int, owner: Owner | None) -> int:
        """Opens a directory, making it and its parents where they are missing."""
        try:
            return self._resolve(self._fd, path, FOLDER)
        except FileNotFoundError:
            if path == "/":
                raise
        above, name = split(path)
        parent = self._folder(above, mode, owner)
        try:
            with suppress(FileExistsError):
                self.effects.mkdir(parent, name, mode)
                self._adopt(parent, name, mode, owner)
        finally:
            os.close(parent)
        return self._resolve(self._fd, path, FOLDER)

    def _adopt(self, parent: int, name: str, mode: int, owner: Owner | None) -> None:
        """What the umask took from a directory that we just made, and its owner."""
        made = os.open(name, FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            found_mode, *found_owner = self.effects.metadata(os.fstat(made))
            if owner is not None and tuple(found_owner) != owner:
                self.effects.chown(made, *owner)
            if st.S_IMODE(found_mode) != mode:
                self.effects.chmod(made, mode)
            self.effects.sync(made)
        finally:
            os.close(made)
        self.effects.sync(parent)


class _Metadata(NamedTuple):
    mode: int
    owner: Owner | None
    mtime_ns: int | None
    xattrs: Mapping[str, bytes]


def _temporary(name: str) -> str:
    """`.<base><random>` (spec/daemon.md 6.8), cut where a long name leaves no room for more."""
    suffix = f".mcd-{secrets.token_hex(6)}"
    base = os.fsencode(name)[: _NAME_MAX - len(suffix) - 1]
    return f".{os.fsdecode(base)}{suffix}"


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
