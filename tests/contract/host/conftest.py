"""One suite, several machines.

`root` is a folder with every combination of how paths are resolved (by the kernel, by hand) and where owners
are kept (in the file system, in a side table). `subject` is a whole machine: a directory-rooted host with
each of its replacements, and a real one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mco.host.effects import Effects
from mco.host.fake import FakeMachine
from mco.host.fake.owners import OwnerTable
from mco.host.machine import Host
from mco.host.resolve import Resolver, openat2, walk
from mco.host.root import Root
from tests.contract.host.subjects import FakeSubject, LabOfOne, Subject
from tests.smalldisk import small_disk

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


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabOfOne]:
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("real machines need root and systemd-nspawn")
    made = LabOfOne(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


@pytest.fixture(
    params=[
        pytest.param("owners", marks=needs_root),
        "table",
        "own-systemctl",
        pytest.param("lab", marks=pytest.mark.lab),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "lab":
        made: LabOfOne = request.getfixturevalue("lab")
        yield made.subject
        return
    as_root = request.param == "owners"
    systemctl = "" if request.param == "own-systemctl" else None
    machine = FakeMachine.create(tmp_path / "machine", as_root=as_root, systemctl=systemctl)
    yield FakeSubject(machine)
    machine.close()


@pytest.fixture
def host(subject: Subject) -> Host:
    """For tests that do not reboot."""
    return subject.host


@pytest.fixture
def mounted() -> Iterator[Path]:
    """A root of its own file system, 64 KiB large."""
    with small_disk("64k") as folder:
        yield folder
