"""Every node that does not move says why in its MachineConfigNode (design.md 6, explanations)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mco.api import names, resources
from mco.api.meta import conditions as cond
from mco.plan import report
from tests.controllers.stage import Stage, stage

FIRST = ("MaxUnavailable", "maxUnavailable is 1; others go first")


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    """Four nodes at v0 in a pool that wants v1; w0 is told to go, and the others are told why not."""
    async with stage(tmp_path) as made:
        await made.pool()
        for number in range(4):
            await made.node(f"w{number}")
        await made.step()
        await made.explain()
        yield made


async def versions(on: Stage) -> dict[str, str]:
    listed = await on.client.list(resources.MACHINE_CONFIG_NODES)
    return {found.name: found.metadata.resource_version for found in listed.items}


async def test_who_waits_says_so_and_who_moves_does_not(on: Stage) -> None:
    assert [await on.why(f"w{number}") for number in range(4)] == [None, FIRST, FIRST, FIRST]


async def test_a_rollout_that_goes_on_costs_those_who_wait_nothing_more(on: Stage) -> None:
    before = await versions(on)
    await on.arrives("w0")
    await on.step()
    await on.explain()
    assert await on.moving() == {"w1"}
    assert on.told["worker"].waiting["w2"].text == "maxUnavailable is 1; others go first: w1"
    after = await versions(on)
    # w1 got its target; its daemon, which is about to report, takes the sentence back.
    assert {name for name in after if after[name] != before[name]} == {"w1"}


async def test_what_blocks_a_pool_is_named_everywhere(on: Stage) -> None:
    await on.says("w0", state=names.STATE_DEGRADED, reason="no space")
    await on.step()
    await on.explain()
    blocked = ("PoolBlocked", "maxUnavailable is 1; failed on this config: w0")
    assert [await on.why(f"w{number}") for number in range(4)] == [None, blocked, blocked, blocked]


async def test_a_reason_that_is_gone_is_taken_back(on: Stage) -> None:
    await on.target("v0")
    await on.arrives("w0")
    await on.step()
    await on.explain()
    assert [await on.why(f"w{number}") for number in range(1, 4)] == [None] * 3
    found = await on.client.get(resources.MACHINE_CONFIG_NODES, "w1")
    condition = cond.find(found.status.conditions, "UpdateWaiting")
    assert condition and (condition.status, condition.reason) == ("False", "NotWaiting")
    before = await versions(on)
    await on.step()
    await on.explain()
    assert await versions(on) == before


async def test_a_daemon_that_begins_takes_the_reason_back(on: Stage) -> None:
    await on.arrives("w0")
    await on.step()
    found = await on.client.get(resources.MACHINE_CONFIG_NODES, "w1")
    node = (await on.nodes())["w1"]
    began = report.Step(parent=report.UPDATED, status=cond.FALSE, message="Node w1 needs an update")
    status = report.status_patch(found, node, began, "2026-01-01T00:00:00Z")
    await on.client.patch(resources.MACHINE_CONFIG_NODES, "w1", {"status": status}, subresource="status")
    await on.explain()
    assert await on.why("w1") is None


async def test_a_report_that_its_daemon_wrote_meanwhile_is_tried_again(on: Stage) -> None:
    stale = await on.client.get(resources.MACHINE_CONFIG_NODES, "w3")
    await on.change_pool(paused=True)
    await on.step()
    body = {"status": {"observedGeneration": 7}}
    await on.client.patch(resources.MACHINE_CONFIG_NODES, "w3", body, subresource="status")
    await on.look()
    on.caches.reports.store.put(stale)
    assert await on.written() == 1.0
    assert (await on.why("w2"), await on.why("w3")) == (("PoolPaused", "its pool is paused"), FIRST)
    assert await on.explain() is None
    assert await on.why("w3") == ("PoolPaused", "its pool is paused")


async def test_a_node_without_a_report_stops_nobody(on: Stage) -> None:
    await on.client.delete(resources.MACHINE_CONFIG_NODES, "w1")
    await on.change_pool(paused=True)
    await on.step()
    assert await on.explain() is None
    assert await on.why("w2") == ("PoolPaused", "its pool is paused")


async def test_reasons_survive_a_restart_without_being_written_again(on: Stage) -> None:
    before = await versions(on)
    caches, second = on.another()
    await on.look(caches)
    await second.reconcile("worker")
    await on.explain()
    assert await versions(on) == before
