"""Throwing away what nobody uses any more: base roots, layers and programs of former versions."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from mco.lab import cleanup, kept, paths
from mco.lab.disk import Disk
from mco.lab.locks import is_held

_KINDS = ("base", "image", "program", "site")
# Somebody who has just looked it up may not have said so yet.
_GRACE_SECONDS = 3600


def use(*folders: Path) -> None:
    """Says that these were needed now."""
    for folder in folders:
        os.utime(folder)


def collect() -> list[Path]:
    """Removes entries of the cache that no disk stands on, no running instance mounts and nobody needed
    lately. Answers what was removed."""
    needed = _needed()
    youngest = time.time() - _GRACE_SECONDS
    removed = []
    for kind in _KINDS:
        for folder in paths.cache_folder().glob(f"{kind}-*"):
            if folder.suffix or folder in needed or folder.stat().st_mtime > youngest:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _needed() -> set[Path]:
    needed: set[Path] = set()
    for instance in paths.registry_folder().glob("*"):
        found = kept.read(instance)
        if found is None:
            continue
        if is_held(instance / cleanup.LOCK):
            needed.update(Path(path) for path in found.uses)
        for folder in (Path(found.data) / "machines").glob("*"):
            needed.update(Disk(folder=folder).layers())
    return needed
