"""Rendered configs that nobody needs are collected, the others are guarded and told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.api import names, resources
from mco.base.errors import InvalidInput
from mco.controllers.prune import ALL, Collection, PruneController
from mco.plan.pool.prune import Limits
from tests.controllers.fleet import HandClock
from tests.controllers.scene import HOUR, POOL, Scene, scene

DAY = 24 * HOUR


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene(tmp_path) as made:
        yield made


async def history(stage: Scene, count: int) -> list[str]:
    """So many rendered configs, the oldest first; the last is the pool's."""
    made = []
    for number in range(count):
        await stage.input(f"{number}")
        made.append(await stage.rendered())
        stage.clock.seconds += 60
    return made


async def test_all_but_the_newest_go(stage: Scene) -> None:
    made = await history(stage, 8)
    await stage.pruned()
    assert set(await stage.configs()) == set(made)
    stage.clock.seconds += HOUR
    await stage.pruned()
    assert set(await stage.configs()) == set(made[-5:])


async def test_what_is_needed_is_guarded_and_told(stage: Scene) -> None:
    made = await history(stage, 2)
    for number in range(12):
        await stage.register(f"w{number:02}", made[0])
    await stage.pruned()
    guards = await stage.data(names.IN_USE_MAP)
    named = ", ".join(f"w{number:02}" for number in range(10))
    assert guards == {made[0]: f"nodes {named} and 2 more", made[1]: "pool worker"}
    assert await stage.active() == {
        made[0]: ["NodeCurrent", "NodeDesired", "NodePending", "Young", "Newest"],
        made[1]: ["PoolSpec", "PoolStatus", "Young", "Newest"],
    }
    with pytest.raises(InvalidInput, match=f"{made[0]} is in use by .*nodes w00, w01"):
        await stage.delete(made[0])
    await stage.annotate(made[0], allow_deletion="")
    await stage.delete(made[0])
    assert set(await stage.configs()) == {made[1]}


async def test_the_guard_lets_go_what_nobody_needs(stage: Scene) -> None:
    made = await history(stage, 2)
    await stage.pruned()
    assert set(await stage.data(names.IN_USE_MAP)) == {made[1]}
    await stage.delete(made[0])


async def test_without_collection_everything_stays_and_is_told(stage: Scene) -> None:
    stage.collection = Collection(limits=Limits(newest=1, grace=0.0))
    stage.restart()
    made = await history(stage, 3)
    await stage.pruned()
    assert set(await stage.configs()) == set(made)
    assert await stage.active() == {made[2]: ["PoolSpec", "PoolStatus", "Newest"]}


async def test_nothing_is_written_twice(stage: Scene) -> None:
    await history(stage, 2)
    await stage.pruned()
    before = await versions(stage)
    await stage.pruned()
    assert await versions(stage) == before


async def test_a_pinned_config_and_a_build_stay(stage: Scene) -> None:
    stage.collection = Collection(enabled=True, limits=Limits(newest=0), rate=1e6)
    stage.restart()
    made = await history(stage, 4)
    await stage.annotate(made[0], keep="for the audit")
    await stage.build("build-1", made[1])
    stage.clock.seconds += DAY
    await stage.pruned()
    assert set(await stage.configs()) == {made[0], made[1], made[3]}


async def test_a_served_config_stays_until_the_machine_has_joined(stage: Scene) -> None:
    stage.collection = Collection(enabled=True, limits=Limits(newest=0), rate=1e6)
    stage.restart()
    await history(stage, 1)
    served = await stage.served()
    assert set(await stage.data(names.SERVED_MAP)) == {served}
    made = await history(stage, 3)
    stage.clock.seconds += DAY / 2
    await stage.pruned()
    assert set(await stage.configs()) == {served, made[-1]}
    stage.clock.seconds += DAY / 2 + HOUR
    await stage.pruned()
    assert set(await stage.configs()) == {made[-1]}
    assert await stage.data(names.SERVED_MAP) == {}


async def test_a_config_that_changes_after_the_decision_stays(stage: Scene) -> None:
    made = await history(stage, 7)
    stage.clock.seconds += DAY
    await stage.look()
    await stage.annotate(made[0], keep="")
    await stage.prune.reconcile(ALL)
    assert set(await stage.configs()) == {made[0], *made[2:]}


async def test_a_config_that_came_into_use_after_the_decision_stays(stage: Scene) -> None:
    """The collector's caches are behind; it looks past them before it deletes."""
    made = await history(stage, 7)
    stage.clock.seconds += DAY
    await stage.look()
    await stage.register("w1", made[0])
    await stage.prune.reconcile(ALL)
    assert set(await stage.configs()) == {made[0], *made[2:]}


async def test_nothing_is_written_over_what_the_cache_has_not_heard_of(stage: Scene) -> None:
    """A leader that was stopped decides on what it knew."""
    made = await history(stage, 2)
    await stage.look()
    labels = {"metadata": {"labels": {"changed": "meanwhile"}}}
    await stage.client.patch(resources.MACHINE_CONFIG_POOLS, POOL, labels)
    again = await stage.prune.reconcile(ALL)
    assert again is not None and again < 1
    assert await stage.active() == {}
    await stage.look()
    await stage.prune.reconcile(ALL)
    assert made[1] in await stage.active()


async def test_two_collectors_do_not_mind_each_other(stage: Scene) -> None:
    made = await history(stage, 30)
    stage.clock.seconds += DAY
    other = PruneController(stage.client, stage.caches, stage.clock, stage.collection)
    await stage.look()
    await asyncio.gather(stage.prune.reconcile(ALL), other.reconcile(ALL))
    assert set(await stage.configs()) == set(made[-5:])


async def test_a_collector_that_dies_leaves_the_rest_to_the_next(stage: Scene) -> None:
    made = await history(stage, 10)
    stage.clock.seconds += DAY
    stage.collection = Collection(enabled=True, rate=0.4)
    stage.restart()
    await stage.look()
    assert await stage.prune.reconcile(ALL) == 0.0
    left = set(await stage.configs())
    assert left == set(made[2:])
    stage.restart()
    await stage.pruned()
    assert set(await stage.configs()) == set(made[-5:])


async def test_deletions_are_paced(stage: Scene) -> None:
    await history(stage, 25)
    stage.clock.seconds += DAY
    stage.collection = Collection(enabled=True, rate=20.0)
    stage.restart()
    await stage.look()
    before = stage.clock.seconds
    await stage.prune.reconcile(ALL)
    assert stage.clock.seconds - before == pytest.approx(20 / 20.0)


async def test_a_clock_that_jumps_a_day_collects_nothing(stage: Scene) -> None:
    made = await history(stage, 8)
    await stage.pruned()
    stage.clock.jump = DAY
    await stage.pruned()
    assert set(await stage.configs()) == set(made)
    stage.clock.seconds += HOUR
    await stage.pruned()
    assert set(await stage.configs()) == set(made[-5:])


@pytest.mark.parametrize("wrong", [DAY, -DAY], ids=["ahead", "behind"])
async def test_a_clock_of_ours_that_is_wrong_from_the_start_does_not_matter(
    stage: Scene, wrong: float
) -> None:
    """The API server's counts: it stamped what is judged."""
    made = await history(stage, 8)
    ours = HandClock()
    ours.seconds, ours.jump = stage.clock.seconds, wrong
    stage.prune = PruneController(stage.client, stage.caches, ours, stage.collection)
    await stage.pruned()
    assert set(await stage.configs()) == set(made)
    for clock in (stage.clock, ours):
        clock.seconds += HOUR
    await stage.pruned()
    assert set(await stage.configs()) == set(made[-5:])


async def versions(stage: Scene) -> list[str]:
    pool = await stage.client.get(resources.MACHINE_CONFIG_POOLS, POOL)
    map_ = await stage.client.get(resources.CONFIG_MAPS, names.IN_USE_MAP, namespace=names.NAMESPACE)
    return [pool.metadata.resource_version, map_.metadata.resource_version]
