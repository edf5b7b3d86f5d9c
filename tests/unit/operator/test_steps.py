"""spec/operator.md 1.2, 9: gates are looked at and never waited in."""

from __future__ import annotations

import pytest

from mco.base.errors import Unavailable
from mco.kube.errors import Unreachable
from mco.operator.steps import Run, Runner, Step
from mco.plan.installation.outcome import Waiting
from tests.controllers.fleet import HandClock

GATE = Waiting(message="the first is late", during="waitForFirst", patience=60.0, look_again=5.0)


class Scene:
    """Steps that do what a test says, and what has run."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.does: dict[str, Waiting | Exception | None] = {}
        self.ran: list[str] = []

    def step(self, name: str, *needs: str) -> Step:
        return Step(name, self._run(name), needs)

    def _run(self, name: str) -> Run:
        async def run() -> Waiting | None:
            self.ran.append(name)
            outcome = self.does.get(name)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return run


async def test_a_closed_gate_never_stops_the_others() -> None:
    scene = Scene()
    runner = Runner([scene.step("first"), scene.step("second")], scene.clock)
    scene.does = {"first": GATE}
    result = await runner.run()
    assert scene.ran == ["first", "second"]
    assert [outcome.waiting for outcome in result.outcomes] == ["the first is late", ""]
    assert (result.error, result.look_again) == (None, 5.0)


async def test_a_gate_that_stays_closed_is_an_error_and_is_looked_at_all_the_same() -> None:
    scene = Scene()
    runner = Runner([scene.step("first")], scene.clock)
    scene.does = {"first": GATE}
    await runner.run()
    scene.clock.seconds += 58
    assert (await runner.run()).look_again == 2.0
    scene.clock.seconds += 2
    late = await runner.run()
    text = "error during waitForFirst: [context deadline exceeded, the first is late]"
    assert late.outcomes[0].error == text
    assert late.look_again == 5.0
    scene.does = {}
    assert (await runner.run()).outcomes[0].done
    scene.does = {"first": GATE}
    assert (await runner.run()).outcomes[0].waiting


async def test_a_gate_without_patience_is_never_late() -> None:
    scene = Scene()
    runner = Runner([scene.step("first")], scene.clock)
    scene.does = {"first": Waiting(message="x", during="y")}
    await runner.run()
    scene.clock.seconds += 1e6
    result = await runner.run()
    assert (result.outcomes[0].waiting, result.look_again) == ("x", None)


async def test_a_failure_stops_only_what_needs_it() -> None:
    scene = Scene()
    steps = [scene.step("first"), scene.step("second", "first"), scene.step("third")]
    scene.does = {"first": Unavailable("broken"), "third": Unavailable("too")}
    result = await Runner(steps, scene.clock).run()
    assert scene.ran == ["first", "third"]
    assert [outcome.error for outcome in result.outcomes] == ["broken", "", "too"]
    assert result.outcomes[1].waiting == "first has failed"
    assert str(result.error) == "broken"


async def test_a_server_that_cannot_be_reached_says_nothing_about_the_installation() -> None:
    scene = Scene()
    scene.does = {"first": Unreachable("no route")}
    with pytest.raises(Unreachable):
        await Runner([scene.step("first"), scene.step("second")], scene.clock).run()
