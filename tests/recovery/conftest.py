from __future__ import annotations

from collections import Counter

import pytest

from tests.recovery.course import Course, is_root

_POINTS = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    if not is_root():
        pytest.skip("rebuilds owners")
    return Course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def points(request: pytest.FixtureRequest) -> Counter[str]:
    """Counts what is tried; the run's summary says it."""
    return request.config.stash.setdefault(_POINTS, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for what, count in config.stash.get(_POINTS, Counter()).items():
        terminalreporter.write_line(f"{what}: {count} points")
