"""No machine ever loses a config that it needs, whatever happens in whichever order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mco.plan.pool.uses import Why
from tests.controllers.lives import Event, Life
from tests.controllers.realscene import real_scene
from tests.controllers.scene import Scene, scene
from tests.controllers.search import Search, harmful
from tests.servers.assets import find
from tests.servers.real import real_server

SEED, LIVES = "j", 1500
"""Any seed will do, some in 200 lives and some in 1000; `python -m bench lives` tries others."""
REAL_LIVES = 3
World = tuple[Scene, asyncio.Runner]

pytestmark = pytest.mark.timeout(900)
LONG = (("crash", 0), ("time", 5))
"""The config server starts anew and no longer marks what it served; then more than a day passes."""
COLLECT = ("collect", 1)
RELEASE, QUICK_RELEASE, TAKE_BACK, ADVANCE = ("release", 9), ("release", 0), ("release", 8), ("advance", 9)

HISTORIES: dict[Why, tuple[Event, ...]] = {
    Why.POOL_SPEC: (
        # The inputs are what they were once, and no node was told yet.
        *(RELEASE, ("boot", 0), *LONG, ("edit", 2), ("render", 1), COLLECT),
    ),
    Why.POOL_STATUS: (
        # The next target is there before the pool has said that it reached the one before.
        *(("boot", 0), RELEASE, ("live", 0), ("live", 0), *LONG, RELEASE, COLLECT),
    ),
    Why.NODE_CURRENT: (
        # A machine that was slow to join, on its way from what it was served.
        *(("ask", 0), RELEASE, ("live", 0), ("roll", 1), ("lose_the_report", 0), *LONG, COLLECT),
    ),
    Why.NODE_DESIRED: (
        # Told, not begun; the pool has moved on.
        *(("boot", 0), RELEASE, ("lose_the_report", 0), ADVANCE, *LONG, COLLECT),
    ),
    Why.NODE_PENDING: (
        # Begun; then the Node is deleted and comes back without a word, and the pool has moved on.
        *(("boot", 0), RELEASE, ("live", 0), ("lose_the_node", 0), ADVANCE, *LONG, COLLECT),
    ),
    Why.ROLLBACK_TARGET: (
        # The same, of a machine that was slow to join: what it has is nobody else's any more.
        *(("ask", 0), RELEASE, ("live", 0), ("roll", 1), ("live", 0), ("lose_the_node", 0)),
        *(*LONG, COLLECT),
    ),
    Why.IMAGE_BUILD: (RELEASE, ("build", 2), COLLECT),
    Why.SERVED: (("ask", 0), RELEASE, COLLECT),
    Why.YOUNG: (QUICK_RELEASE, COLLECT),
    Why.NEWEST: (RELEASE, TAKE_BACK, COLLECT),
    Why.PINNED: (RELEASE, ("pin", 2), COLLECT),
}
"""For each reason a history in which nothing else keeps a config."""


@pytest.fixture(scope="module", params=["embedded", "real"])
def endpoint(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def world(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("lives")
    with asyncio.Runner() as loop:
        stack = AsyncExitStack()
        if endpoint == "real":
            server = stack.enter_context(real_server(find(), tmp_path_factory.mktemp("real")))
            opening = stack.enter_async_context(real_scene(folder, server))
        else:
            opening = stack.enter_async_context(scene(folder))
        yield loop.run(opening), loop
        loop.run(stack.aclose())


@pytest.mark.only("embedded")
def test_the_search_finds_every_collector_that_forgets_a_reason(world: World) -> None:
    """In lives in which the collector as it is does no harm."""
    search = Search(*world, SEED)
    search.look(LIVES)
    print(f"{search.lives} lives, {search.events} events")
    assert search.missing == []
    assert search.collected > 0


@pytest.mark.only("real")
def test_so_are_lives_on_a_real_server(world: World) -> None:
    search = Search(*world, SEED)
    search.look(REAL_LIVES, all_of_them=True)
    assert search.events > 0


@pytest.mark.parametrize("why", HISTORIES)
def test_every_reason_is_needed(world: World, why: Why) -> None:
    Life(*world).live_through(HISTORIES[why])
    assert "collected: " in harmful(*world, why, HISTORIES[why])


def test_there_is_a_history_for_each_reason() -> None:
    assert set(HISTORIES) == set(Why)
