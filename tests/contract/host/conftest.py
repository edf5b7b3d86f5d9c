"""One suite, several machines.

`root` is a folder with every combination of how paths are resolved (by the kernel, by hand) and whose owners
are kept (the file system's, a side table). `machine` is a whole host: directory-rooted with each of its
replacements.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.fake.owners import OwnerTable
from mco.host.machine import Host
from mco.host.resolve import Resolver, openat2, walk
from mco.host.root import Root

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

_RESOLVERS: dict[str, Resolver] = {"kernel": openat2, "walk": walk}


@pytest.fixture(
    params=[
        pytest.param("kernel-owners", marks=needs_root),
        pytest.param("walk-owners", marks=needs_root),
        "kernel-table",
        "walk-table",
    ]
)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Root]:
    resolver, _, owners = request.param.partition("-")
    folder = tmp_path / "root"
    folder.mkdir()
    effects = Effects() if owners == "owners" else OwnerTable(tmp_path / "owners")
    with Root(folder, effects=effects, resolver=_RESOLVERS[resolver]) as opened:
        yield opened


@pytest.fixture
def folder(root: Root) -> Path:
    """The root's folder as the test's own process sees it."""
    return Path(root.path)


@pytest.fixture(params=[pytest.param("owners", marks=needs_root), "table", "own-systemctl"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeMachine]:
    FakeMachine.create(tmp_path / "machine", hostname="worker-0").close()
    made = FakeMachine(
        tmp_path / "machine",
        as_root=request.param == "owners",
        systemctl="" if request.param == "own-systemctl" else None,
    )
    if request.param != "owners" and os.geteuid() == 0:
        made.root.set_owner_and_mode("/home/core", 0o700, (1000, 1000))
    yield made
    made.close()


@pytest.fixture
def host(machine: FakeMachine) -> Host:
    return machine.host


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A root of its own file system, 64 KiB large, for what only a real one refuses."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
