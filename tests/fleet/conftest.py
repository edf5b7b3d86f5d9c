from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mco.lab import cleanup
from tests.fleet.program import Running
from tests.lab.footprint import footprint

INSTANCES = ("default", "one", "two")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """State of the test's own. Whatever it does, the host is afterwards what it was before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = footprint(*INSTANCES)
    yield tmp_path
    after = footprint(*INSTANCES)
    cleanup.sweep(lambda _: None)
    assert after == before


@pytest.fixture
def mco(home: Path) -> Iterator[Callable[..., Running]]:
    """Starts the program; what a failed test leaves running is ended."""
    (home / "logs").mkdir()
    started: list[Running] = []

    def start(*argv: str) -> Running:
        started.append(Running(home / "logs", *argv))
        return started[-1]

    yield start
    for program in started:
        program.abandon()
