"""Power is lost after every change to the disk, with what was not synced kept, dropped, torn or zeros. The
trees that may be found are built, the machine is switched on, and it recovers by itself. Trees that are the
same are tried once; all of them by `python -m bench crash`, every so many here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery.course import Course
from tests.recovery.losing import WAYS, recorded, tried

pytestmark = pytest.mark.timeout(600)

_SHARE = 37


@pytest.mark.parametrize(("stage", "towards"), WAYS)
def test_power_lost(course: Course, points: Counter[str], tmp_path: Path, stage: str, towards: str) -> None:
    losses = recorded(course, stage, towards, tmp_path / "recorded")
    wanted = (NEW_NAME, OLD_NAME) if towards == NEW_NAME else (OLD_NAME,)
    chosen = losses.different[::_SHARE]
    name = f"losses of power, {stage} towards {towards}"
    points[f"{name}, of {losses.points} with {len(losses.different)} different trees"] += len(chosen)
    wrong = {
        f"{loss.change} {loss.variant} {desired}": tried(course, loss, desired, tmp_path / "machine")
        for loss in chosen
        for desired in wanted
    }
    assert {loss: text for loss, text in wrong.items() if text} == {}
