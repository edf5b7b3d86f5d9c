from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.home import Start, home_in, starter


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with home_in(tmp_path) as folder:
        yield folder


@pytest.fixture
def mco(home: Path) -> Iterator[Start]:
    with starter(home) as start:
        yield start
