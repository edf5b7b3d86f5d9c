"""What a writer that was killed left behind: temporary files beside the files that it was about to replace.

They are looked for when the daemon starts, which has the machine for itself then, and before an update is
gone on with: a folder that an undo has to remove must be empty.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from mco.api import names
from mco.base.errors import HostError, Unsupported
from mco.host.journal import Journal
from mco.host.root import Root
from mco.host.systemd import UNIT_FOLDER
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.leftovers")

_WRITTEN = (names.CURRENT_CONFIG_FILE, names.NODE_KUBECONFIG_FILE, names.ENCAPSULATED_FILE)


def sweep(root: Root, journal: Journal) -> list[str]:
    """Removes them and returns their paths. A folder that cannot be read is left to whoever needs it."""
    removed: list[str] = []
    for folder in dict.fromkeys(_folders(root, journal)):
        try:
            removed += root.sweep(folder)
        except HostError as error:
            _log.warning("folder not swept", folder=folder, error=str(error))
    if removed:
        _log.info("removed what an interrupted write left", paths=removed)
    return removed


def _folders(root: Root, journal: Journal) -> Iterator[str]:
    yield from _below(root, names.STATE_FOLDER)
    # Undoing restores the links of units, which have no pre-images of their own.
    yield from _below(root, UNIT_FOLDER)
    yield from (posixpath.dirname(path) for path in _WRITTEN)
    yield from _of_last_update(journal)


def _below(root: Root, folder: str) -> Iterator[str]:
    return (path for path, status in root.walk(folder) if status.is_dir)


def _of_last_update(journal: Journal) -> Iterator[str]:
    """Where it wrote, finished or not."""
    try:
        state = journal.read()
    except (HostError, Unsupported):
        return  # whoever needs the journal says what is wrong with it
    for action in state.actions if state is not None else ():
        for image in action.images:
            yield posixpath.dirname(image.path)
