"""A wall clock that does not run ahead of the time that really passes.

What is deleted because it is old must not be deleted because somebody set the clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_TOLERANCE = 60.0


class SteadyTime:
    """`now` takes both clocks. When the wall clock jumps ahead, time goes on as before, and the jump is
    believed only after it has lasted `patience` seconds; one that jumps back is believed at once."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._reference: tuple[datetime, float] | None = None
        self._ahead_since: float | None = None

    def now(self, wall: datetime, monotonic: float) -> datetime:
        if self._reference is None:
            self._reference = (wall, monotonic)
        steady = self._reference[0] + timedelta(seconds=monotonic - self._reference[1])
        ahead = (wall - steady).total_seconds()
        if ahead <= _TOLERANCE:
            self._ahead_since = None
        elif self._ahead_since is None:
            self._ahead_since = monotonic
        waited = monotonic - self._ahead_since if self._ahead_since is not None else self._patience
        if waited < self._patience:
            return steady
        self._reference, self._ahead_since = (wall, monotonic), None
        return wall
