from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mco.lab import checks, cleanup
from tests.lab.footprint import footprint

INSTANCES = ("one", "two")


@pytest.fixture(scope="session")
def _real_machines() -> None:
    if failed := checks.missing():
        pytest.skip("; ".join(f"{check.name}: {check.found}" for check in failed))


@pytest.fixture(autouse=True)
def lab_home(_real_machines: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of the test's own, with the user's cache. Whatever the test does, the host is afterwards
    what it was before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = footprint(*INSTANCES)
    yield tmp_path
    after = footprint(*INSTANCES)
    cleanup.sweep(lambda _: None)
    assert after == before
