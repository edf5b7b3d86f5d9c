"""The whole crash matrix: every kind of action killed at every point, every loss of power and every refused
change, forwards and backwards. Each must end with exactly the old or exactly the new config; what does not
is printed."""

from __future__ import annotations

import errno
import logging
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import Measurement
from tests.daemon.everykind import NEW_NAME, OLD_NAME
from tests.recovery import killing, losing, refusing
from tests.recovery.course import Course


def measure() -> Iterator[Measurement]:
    # Thousands of updates fail on purpose.
    logging.getLogger("mco").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="mco-crash-") as name:
        folder = Path(name)
        course = Course(folder / "course")
        yield _killed(course, folder / "machine")
        for stage, towards in losing.WAYS:
            yield _lost(course, stage, towards, folder)
        yield _refused(course, folder / "machine")


def _killed(course: Course, folder: Path) -> Measurement:
    kills = list(killing.kills(course))
    failed = [_said(str(kill), killing.tried(course, kill, folder)) for kill in kills]
    return Measurement("killed processes that end wrong", sum(failed), "points", 0, f"of {len(kills)}")


def _lost(course: Course, stage: str, towards: str, folder: Path) -> Measurement:
    losses = losing.recorded(course, stage, towards, folder / "recorded")
    wanted = (NEW_NAME, OLD_NAME) if towards == NEW_NAME else (OLD_NAME,)
    failed = [
        _said(
            f"{loss.change}, {loss.variant}, {desired}",
            losing.tried(course, loss, desired, folder / "machine"),
        )
        for loss in losses.different
        for desired in wanted
    ]
    what = f"losses of power that end wrong, {stage}"
    reference = f"of {losses.points}, {len(losses.different)} different, {len(failed)} tried"
    return Measurement(what, sum(failed), "points", 0, reference)


def _refused(course: Course, folder: Path) -> Measurement:
    last = refusing.changes(course, folder)
    failed = [
        _said(f"{number} from {first} on", refusing.lasting(course, number, first, desired, folder))
        for number in (errno.ENOSPC, errno.EROFS)
        for first in range(1, last + 1)
        for desired in (NEW_NAME, OLD_NAME)
    ]
    failed += [_said(f"only {first}", refusing.once(course, first, folder)) for first in range(1, last + 1)]
    return Measurement("refused changes that end wrong", sum(failed), "points", 0, f"of {len(failed)}")


def _said(point: str, wrong: str) -> bool:
    if wrong:
        print(f"  {point}: {wrong}", file=sys.stderr, flush=True)
    return bool(wrong)
