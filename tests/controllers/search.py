"""Looks for histories in which one reason alone keeps what is needed: there a collector that forgets the
reason is found out.

Some lives are random. Most are changed a little from one that came close: in which, beside the reason, as few
others as ever kept something that was needed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from random import Random

import msgspec

from mco.plan.pool.prune import Decision, Facts, age
from mco.plan.pool.uses import Why
from tests.controllers.lives import Event, Life, Watched, history
from tests.controllers.scene import Scene

_CHANGED = 0.9
"""So many lives are changed from others, once there are some that came close."""
_CLOSE = 8
"""So many of those, the latest for each reason, are changed further."""
_TAIL = 6


class Found(msgspec.Struct, frozen=True):
    """`lives`, `events` and `seconds` are what the search had cost until then."""

    history: tuple[Event, ...]
    lives: int
    events: int
    seconds: float


class Search:
    """`found` is confirmed: a collector that forgets the reason does harm in that history."""

    def __init__(self, world: Scene, loop: asyncio.Runner, seed: str) -> None:
        self.found: dict[Why, Found] = {}
        self.lives = self.events = self.collected = 0
        self._world = world
        self._loop = loop
        self._random = Random(seed)
        self._others: dict[Why, int] = {}
        self._close: dict[Why, deque[tuple[Event, ...]]] = {}
        self._began = time.monotonic()

    @property
    def missing(self) -> list[Why]:
        return [why for why in Why if why not in self.found]

    def look(self, lives: int, *, all_of_them: bool = False) -> None:
        """Until every reason is found, or so many lives are over, or always as many. Raises AssertionError
        with the history when the collector, as it is, does harm."""
        while self.lives < lives and (self.missing or all_of_them):
            self._one()

    def _one(self) -> None:
        told = self._told()
        life = Life(self._world, self._loop)
        try:
            life.live_through(told)
        except AssertionError as error:
            error.add_note(f"in this history: {told[: life.events]}")
            raise
        self.lives += 1
        self.events += life.events
        self.collected += life.steps["collected"]
        for why, (others, events) in life.near.items():
            if why in self.found:
                continue
            if others == 0:
                self._confirm(why, told[:events])
            else:
                self._remember(why, others, told[:events])

    def _remember(self, why: Why, others: int, told: tuple[Event, ...]) -> None:
        fewest = self._others.get(why, others)
        if others < fewest or why not in self._close:
            self._close[why] = deque(maxlen=_CLOSE)
        if others <= fewest:
            self._others[why] = others
            self._close[why].append(told)

    def _told(self) -> tuple[Event, ...]:
        near = [why for why in self.missing if why in self._close]
        if near and self._random.random() < _CHANGED:
            return self._changed(self._random.choice(self._close[self._random.choice(near)]))
        return history(self._random)

    def _changed(self, told: tuple[Event, ...]) -> tuple[Event, ...]:
        """Some events choose differently, some are left out, some come in between, others at the end."""
        random, changed = self._random, list(told)
        for _ in range(random.randint(0, 2)):
            at = random.randrange(len(changed))
            ((_, choice),) = history(random, 1)
            changed[at] = (changed[at][0], choice)
        for _ in range(min(random.randint(0, 3), len(changed))):
            del changed[random.randrange(len(changed))]
        for _ in range(random.randint(0, 3)):
            changed[(at := random.randint(0, len(changed))) : at] = history(random, 1)
        return (*changed, *history(random, random.randint(2, _TAIL)))

    def _confirm(self, why: Why, told: tuple[Event, ...]) -> None:
        if harmful(self._world, self._loop, why, told):
            seconds = time.monotonic() - self._began
            self.found[why] = Found(told, self.lives, self.events, seconds)


def harmful(world: Scene, loop: asyncio.Runner, why: Why, told: tuple[Event, ...]) -> str:
    """What a collector that forgets a reason collects in a history that it should not; nothing if it does
    no harm."""
    try:
        Life(world, loop, forgetful(why)).live_through(told)
    except AssertionError as error:
        return str(error)
    return ""


def forgetful(forgotten: Why) -> type[Watched]:
    class Forgetful(Watched):
        def _decide(self, facts: Facts) -> Decision:
            found = super()._decide(facts)
            left = {
                name: {why: by for why, by in reasons.items() if why is not forgotten}
                for name, reasons in found.reasons.items()
            }
            only = [config for config in facts.configs if config.name in left and not left[config.name]]
            kept = {name: reasons for name, reasons in left.items() if reasons}
            unused = tuple(sorted([*found.unused, *only], key=age))
            return Decision(reasons=kept, unused=unused, wake=found.wake)

    return Forgetful
