"""The sync functions of a pass, as a table, and what runs them (spec/operator.md 1.2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from mco.base.errors import Conflict, MCOError
from mco.kube.errors import Unreachable, describe
from mco.plan.installation.outcome import Outcome, Waiting
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.operator")

Run = Callable[[], Awaitable[Waiting | None]]
"""Makes its part so. Returns the gate that is still closed, None when it is done; raises MCOError."""


class Step(msgspec.Struct, frozen=True):
    """`needs`: the steps without whose success it would work on nothing or on something old."""

    name: str
    run: Run
    needs: tuple[str, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`error` is the first failure; `look_again`: seconds until a closed gate has to be looked at, None when
    an event will tell."""

    outcomes: tuple[Outcome, ...]
    error: MCOError | None = None
    look_again: float | None = None


class Runner:
    """Runs the steps in order, each whether or not those before it are done; remembers since when a gate is
    closed, so that a pass never blocks and its deadline holds all the same."""

    def __init__(self, steps: Sequence[Step], clock: Clock) -> None:
        self._steps = steps
        self._clock = clock
        self._closed_since: dict[str, float] = {}

    async def run(self) -> Result:
        """Raises Unreachable and Conflict: the pass is made again, and says nothing of the installation."""
        outcomes: dict[str, Outcome] = {}
        errors: list[MCOError] = []
        waits: list[float] = []
        for step in self._steps:
            lacking = [name for name in step.needs if name in outcomes and outcomes[name].error]
            if lacking:
                outcomes[step.name] = Outcome(step=step.name, waiting=f"{lacking[0]} has failed")
                continue
            try:
                gate = await step.run()
            except (Unreachable, Conflict):
                raise
            except MCOError as error:
                _log.warning("sync function failed", step=step.name, **describe(error))
                errors.append(error)
                outcomes[step.name] = Outcome(step=step.name, error=str(error))
                continue
            outcomes[step.name], wait = self._judged(step.name, gate)
            waits += [wait] if wait is not None else []
        again = min(waits, default=None)
        return Result(outcomes=tuple(outcomes.values()), error=next(iter(errors), None), look_again=again)

    def _judged(self, name: str, gate: Waiting | None) -> tuple[Outcome, float | None]:
        """The outcome, and seconds until the next look."""
        if gate is None:
            self._closed_since.pop(name, None)
            return Outcome(step=name), None
        now = self._clock.monotonic()
        left = None
        if gate.patience is not None:
            left = self._closed_since.setdefault(name, now) + gate.patience - now
            if left <= 0:
                return Outcome(step=name, error=gate.error), gate.look_again
        waits = [seconds for seconds in (left, gate.look_again) if seconds is not None]
        return Outcome(step=name, waiting=gate.message), min(waits, default=None)
