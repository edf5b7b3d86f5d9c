"""A place where `mco` runs without leaving anything behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from mco.lab import cleanup
from tests.fleet.program import Running
from tests.lab.footprint import footprint

INSTANCES = ("default", "one", "two")

Start = Callable[..., Running]
"""The words of a command line; the program that was started."""


@contextmanager
def home_in(folder: Path) -> Iterator[Path]:
    """State of its own. Whatever is done there, the host is afterwards what it was before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        before = footprint(*INSTANCES)
        try:
            yield folder
        finally:
            after = footprint(*INSTANCES)
            cleanup.sweep(lambda _: None)
        assert after == before


@contextmanager
def starter(home: Path) -> Iterator[Start]:
    """Starts the program; what a failed test leaves running is ended."""
    (home / "logs").mkdir()
    started: list[Running] = []

    def start(*argv: str, environment: Mapping[str, str] = os.environ) -> Running:
        started.append(Running(home / "logs", *argv, environment=environment))
        return started[-1]

    try:
        yield start
    finally:
        for program in started:
            program.abandon()
