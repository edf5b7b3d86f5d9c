"""The links by which systemd enables units, as a value that can be made true again.

What `systemctl enable`, `disable` and `preset` change cannot be told beforehand (aliases, `Also=`), so that
the state before is kept whole: it is a few dozen links.
"""

from __future__ import annotations

import msgspec

from mco.host.root import Root
from mco.host.systemd import UNIT_FOLDER


class UnitLinks(msgspec.Struct, frozen=True):
    """Links below the folder of local units by path, and the folders that hold some."""

    links: dict[str, str]
    folders: tuple[str, ...]


def capture(root: Root) -> UnitLinks:
    links: dict[str, str] = {}
    folders: list[str] = []
    for path, status in root.walk(UNIT_FOLDER):
        if status.is_symlink:
            links[path] = status.target
        elif status.is_dir and path != UNIT_FOLDER:
            folders.append(path)
    return UnitLinks(links, tuple(folders))


def restore(root: Root, before: UnitLinks) -> None:
    """Puts back what is missing or leads elsewhere, then takes away what was not there."""
    now = capture(root)
    for path, target in before.links.items():
        if now.links.get(path) != target:
            root.symlink(path, target)
    for path in now.links:
        if path not in before.links:
            root.remove(path)
    for folder in reversed(now.folders):
        if folder not in before.folders and not root.list(folder):
            root.remove(folder)
