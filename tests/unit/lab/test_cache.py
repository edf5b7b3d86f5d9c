from __future__ import annotations

import os
from pathlib import Path

import pytest

from mco.lab import cache, kept, paths
from mco.lab.cleanup import LOCK
from mco.lab.disk import Disk
from mco.lab.kept import Kept
from mco.lab.locks import Lock


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def _old(name: str) -> Path:
    folder = paths.cache_folder() / name
    folder.mkdir(parents=True)
    os.utime(folder, (0, 0))
    return folder


def test_only_what_nobody_needs_leaves_the_cache(home: Path) -> None:
    stood_on, mounted, unused, image = _old("base-1"), _old("program-1"), _old("base-2"), _old("image-1")
    stopped, partial = _old("program-2"), _old("base-3.partial")
    young = paths.cache_folder() / "site-1"
    young.mkdir()

    disk = Disk(folder=home / "data" / "machines" / "worker-0")
    disk.clone(stood_on, image, "worker-0", "")
    for instance, program in (("runs", mounted), ("stopped", stopped)):
        folder = paths.instance_folder(instance)
        folder.mkdir(parents=True)
        kept.write(folder, Kept(data=str(home / "data"), subnet="", uses=(str(program),)))
    with Lock(paths.instance_folder("runs") / LOCK):
        assert sorted(cache.collect()) == [unused, stopped]
    assert all(path.is_dir() for path in (stood_on, mounted, image, young, partial))
