"""The process that changes a machine is killed at every point of every kind of action, forwards and
backwards. All points are tried by `python -m bench crash`; here every kind and every point, not every pair
with everything else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from mco.plan.node import actions
from tests.daemon.everykind import plan
from tests.recovery.course import Course
from tests.recovery.killing import Kill, kills, tried

pytestmark = pytest.mark.timeout(600)

_SHARE = 7


def test_every_kind_of_action_happens(course: Course) -> None:
    planned = plan()
    assert {type(planned[entry - 1]) for entry in course.entries} == set(get_args(actions.AnyAction))


def test_the_selection_has_every_entry_and_every_point(course: Course) -> None:
    everything, chosen = list(kills(course)), _selection(course)
    assert {kill.entry for kill in chosen} == {kill.entry for kill in everything}
    for key in ("stage", "point", "boot", "desired"):
        assert {getattr(kill, key) for kill in chosen} == {getattr(kill, key) for kill in everything}


def _selection(course: Course) -> list[Kill]:
    return list(kills(course))[::_SHARE]


@pytest.mark.parametrize("stage", ["begun", "performed", "untaken"])
def test_killed(course: Course, points: Counter[str], tmp_path: Path, stage: str) -> None:
    """The machine has exactly the old or exactly the new config, with at most one reboot more."""
    chosen = [kill for kill in _selection(course) if kill.stage == stage]
    points[f"killed processes, {stage}"] += len(chosen)
    wrong = {str(kill): tried(course, kill, tmp_path / "machine") for kill in chosen}
    assert {kill: text for kill, text in wrong.items() if text} == {}
