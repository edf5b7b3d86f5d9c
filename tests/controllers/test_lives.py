"""No machine ever loses a config that it needs, whatever happens in whichever order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mco.controllers.prune import PruneController
from mco.plan.pool.prune import Decision, Facts, age
from mco.plan.pool.uses import Why
from tests.controllers.lives import LOSES_NODE, LOSES_REPORT, Event, Lives, release
from tests.controllers.scene import Scene, scene

_ASKED = settings().max_examples
THOROUGH = _ASKED >= 1000
QUICK = settings(
    max_examples=_ASKED // 4,
    stateful_step_count=40,
    derandomize=not THOROUGH,
    suppress_health_check=list(HealthCheck),
)
SEARCH = settings(
    QUICK, derandomize=False, max_examples=1000, phases=(Phase.generate,), report_multiple_bugs=False
)
pytestmark = pytest.mark.timeout(7200 if THOROUGH else 300)

A, B, C = 0, 1, 2
JOINS, LATER = 0, 1
GOES_ON = 0
LONG = (("crash", 0), ("time", 3))
"""The config server starts anew and no longer marks what it served; then more than a day passes."""
COLLECT = ("collect", 1)

HISTORIES: dict[Why, tuple[Event, ...]] = {
    Why.POOL_SPEC: (
        # The inputs are what they were once, and no node was told yet.
        *(release(B), ("boot", JOINS), *LONG, ("edit", A), ("render", 1), COLLECT),
    ),
    Why.POOL_STATUS: (
        # The next target is there before the pool has said that it reached the one before.
        *(("boot", JOINS), release(B), ("live", GOES_ON), ("live", GOES_ON), *LONG, release(C), COLLECT),
    ),
    Why.NODE_CURRENT: (
        # A machine that was slow to join, on its way from what it was served.
        *(("boot", LATER), release(B), ("live", GOES_ON), ("roll", 1), ("live", LOSES_REPORT)),
        *(*LONG, COLLECT),
    ),
    Why.NODE_DESIRED: (
        # Told, not begun; the pool has moved on.
        *(("boot", JOINS), release(B), ("live", LOSES_REPORT), release(C, rolls=False), *LONG, COLLECT),
    ),
    Why.NODE_PENDING: (
        # Begun; then the Node is deleted and comes back without a word, and the pool has moved on.
        *(("boot", JOINS), release(B), ("live", GOES_ON), ("live", LOSES_NODE)),
        *(release(C, rolls=False), *LONG, COLLECT),
    ),
    Why.ROLLBACK_TARGET: (
        # The same, of a machine that was slow to join: what it has is nobody else's any more.
        *(("boot", LATER), release(B), ("live", GOES_ON), ("roll", 1), ("live", GOES_ON)),
        *(("live", LOSES_NODE), *LONG, COLLECT),
    ),
    Why.IMAGE_BUILD: (release(B), ("want", 8 * 1 + 7), COLLECT),
    Why.SERVED: (("boot", LATER), release(B), COLLECT),
    Why.YOUNG: (release(B, hours=0), COLLECT),
    Why.NEWEST: (release(B), release(A), COLLECT),
    Why.PINNED: (release(B), ("want", 8 * 7 + 1), COLLECT),
}
"""For each reason a history in which nothing else keeps a config."""


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Lives]]:
    folder: Path = tmp_path_factory.mktemp("lives")
    with asyncio.Runner() as loop:
        stack = AsyncExitStack()
        made: Scene = loop.run(stack.enter_async_context(scene(folder)))

        class Here(Lives):
            world, loop_ = made, loop
            steps: ClassVar[Counter[str]] = Counter()

        yield Here
        loop.run(stack.aclose())


def forgetful(lives: type[Lives], forgotten: Why) -> type[Lives]:
    """With a collector that keeps nothing for one of the reasons."""

    class Forgetful(PruneController):
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

    class Planted(lives):  # type: ignore[valid-type, misc]
        collector = Forgetful

    return Planted


def test_nothing_that_is_needed_is_ever_collected(lives: type[Lives]) -> None:
    run_state_machine_as_test(lives, settings=QUICK)
    print(dict(lives.steps))
    assert lives.steps["collected"] > 0


@pytest.mark.parametrize("why", HISTORIES)
def test_every_reason_is_needed(lives: type[Lives], why: Why) -> None:
    lives.replay(HISTORIES[why])
    with pytest.raises(AssertionError, match="collected: "):
        forgetful(lives, why).replay(HISTORIES[why])


def test_there_is_a_history_for_each_reason() -> None:
    assert set(HISTORIES) == set(Why)


@pytest.mark.skipif(not THOROUGH, reason="a long search: --hypothesis-profile=thorough")
@pytest.mark.parametrize("why", HISTORIES)
def test_a_collector_that_forgets_a_reason_is_found_out(lives: type[Lives], why: Why) -> None:
    with pytest.raises(AssertionError, match="collected: "):
        run_state_machine_as_test(forgetful(lives, why), settings=SEARCH)
