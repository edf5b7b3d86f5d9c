"""Rules for files, directories and links, alone and against each other and the units."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from mco.ignition import types as t
from mco.ignition.report import Findings

_SYSTEMD = "/etc/systemd/system/"
_SPECIAL_BITS = "setuid/setgid/sticky bits are not supported or functional in spec versions older than 3.6.0"
_UNSIMPLE = re.compile(r"//|/\.{1,2}(?:/|$)|./$")


def path_error(path: str) -> str:
    """What is wrong with an absolute path that must be in its simplest form."""
    if not path:
        return "path not specified"
    if not path.startswith("/"):
        return "path not absolute"
    return "path is not fully simplified" if _UNSIMPLE.search(path) else ""


def check_path(path: str, at: str, out: Findings) -> None:
    message = path_error(path)
    if message:
        out.error(at, message)


def check_file(file: t.File, path: str, out: Findings) -> None:
    check_path(file.path, f"{path}.path", out)
    _check_mode(file.mode, f"{path}.mode", out)
    if file.overwrite and file.contents.source is None:
        out.error(f"{path}.overwrite", "overwrite must be false if source is unspecified")


def check_directory(directory: t.Directory, path: str, out: Findings) -> None:
    check_path(directory.path, f"{path}.path", out)
    _check_mode(directory.mode, f"{path}.mode", out)


def check_link(link: t.Link, path: str, out: Findings) -> None:
    check_path(link.path, f"{path}.path", out)


def check_owner(owner: t.NodeUser | t.NodeGroup, path: str, out: Findings) -> None:
    if owner.id is not None and owner.name:
        out.error(path, "cannot set both id and name")


def check_link_owner(link: t.Link, path: str, out: Findings) -> None:
    """A hard link has the owner of the file that it is a link to."""
    owners = (
        ("user.id", link.user.id is not None),
        ("user.name", link.user.name is not None),
        ("group.id", link.group.id is not None),
        ("group.name", link.group.name is not None),
    )
    for field, given in owners:
        if given:
            out.warn(f"{path}.{field}", "user/group ignored for hard link")


def check_storage(storage: t.Storage, path: str, out: Findings) -> None:
    """Paths that lead through a configured link, hard links onto configured directories, filesystems on disks
    that are partitioned."""
    if storage.links:
        links = Counter(link.path for link in storage.links)
        _check_nodes(
            storage.directories, f"{path}.directories", "directory path includes link in config", links, out
        )
        _check_nodes(storage.files, f"{path}.files", "file path includes link in config", links, out)
        directories = Counter(directory.path for directory in storage.directories)
        for index, link in enumerate(storage.links):
            at = f"{path}.links.{index}"
            _check_nodes((link,), at, "link path includes link in config", links, out, indexed=False)
            _check_target(link, at, directories, out)


def _check_target(link: t.Link, path: str, directories: Counter[str], out: Findings) -> None:
    if not link.target and out.minor >= 3:
        out.error(f"{path}.target", "link target is required")
    elif link.hard:
        for _ in range(directories[_hard_target(link.path, link.target or "")]):
            out.error(path, "hard link target is a directory")
        check_link_owner(link, path, out)


def _check_nodes(
    nodes: Sequence[t.Node],
    at: str,
    message: str,
    links: Counter[str],
    out: Findings,
    *,
    indexed: bool = True,
) -> None:
    """One entry for every link on the way, as the original compares each path with each link."""
    for index, node in enumerate(nodes):
        for _ in range(sum(links[parent] for parent in _parents(node.path))):
            out.error(f"{at}.{index}" if indexed else at, message)


def _parents(path: str) -> Iterator[str]:
    """What stands before each slash."""
    position = path.find("/")
    while position >= 0:
        yield path[:position]
        position = path.find("/", position + 1)


def _hard_target(path: str, target: str) -> str:
    if not path and not target:
        return ""
    clean = posixpath.normpath(target)
    if not clean.startswith("/"):
        clean = posixpath.normpath(posixpath.join(path, target))
    return "/" + clean.lstrip("/") if clean.startswith("/") else clean


def check_unit_files(config: t.Config, path: str, out: Findings) -> None:
    """Files, directories and links at the path of a unit or drop-in that the same config writes."""
    units = _unit_paths(config.systemd)
    if not units:
        return
    storage = config.storage
    lists = (("files", storage.files), ("directories", storage.directories), ("links", storage.links))
    for name, nodes in lists:
        for index, node in enumerate(nodes):
            if node.path in units:
                out.error(f"{path}.storage.{name}.{index}.path", "path conflicts with systemd unit or dropin")


def _unit_paths(systemd: t.Systemd) -> set[str]:
    paths = set()
    for unit in systemd.units:
        if unit.contents:
            paths.add(f"{_SYSTEMD}{unit.name}")
        for dropin in unit.dropins:
            if dropin.contents:
                paths.add(f"{_SYSTEMD}{unit.name}.d/{dropin.name}")
    return paths


def _check_mode(mode: int | None, at: str, out: Findings) -> None:
    if mode is None:
        return
    if not 0 <= mode <= 0o7777:
        out.error(at, "illegal file mode")
    if mode & 0o7000:
        out.warn(at, _SPECIAL_BITS)
