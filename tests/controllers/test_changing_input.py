"""What people do to a fleet in the middle of an update, and what they write by mistake (spec/node.md 3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mco.api import names, resources
from mco.api.machineconfigpool import MachineConfigPool
from mco.base.errors import InvalidInput
from mco.kube.errors import ConflictError
from tests.controllers.stage import Stage, stage

EDGE = f"{names.NODE_ROLE_PREFIX}edge"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as made:
        await made.pool()
        yield made


async def three_nodes(on: Stage) -> None:
    """w0 of three has been told to go to v1."""
    for number in range(3):
        await on.node(f"w{number}")
    await on.step()
    assert await on.moving() == {"w0"}


async def test_a_node_that_is_deleted_makes_room_for_the_next(on: Stage) -> None:
    await three_nodes(on)
    await on.client.delete(resources.NODES, "w0")
    await on.step()
    assert await on.desired() == {"w1": "v1", "w2": "v0"}
    assert await on.counts() == (2, 0, 0, 1, 0)


async def test_a_node_that_comes_back_under_its_name_is_another_one(on: Stage) -> None:
    await three_nodes(on)
    await on.client.delete(resources.NODES, "w0")
    await on.node("w0", at="v1")
    await on.step()
    assert await on.desired() == {"w0": "v1", "w1": "v1", "w2": "v0"}
    assert await on.counts() == (3, 1, 1, 1, 0)


async def test_a_node_that_changes_pools_is_moved_by_the_new_one(on: Stage) -> None:
    await three_nodes(on)
    await on.pool("edge", "e1")
    await on.change_node("w0", metadata={"labels": {EDGE: ""}})
    await on.step("worker")
    await on.step("edge")
    # w0 is still on its way to v1 for edge: it is unavailable there, and its place in worker is free.
    assert await on.desired() == {"w0": "v1", "w1": "v1", "w2": "v0"}
    assert (await on.counts("worker"), await on.counts("edge")) == ((2, 0, 0, 1, 0), (1, 0, 0, 1, 0))
    await on.arrives("w0")
    await on.step("edge")
    assert (await on.desired())["w0"] == "e1"


async def test_a_node_that_somebody_cordoned_is_left_alone_and_counts(on: Stage) -> None:
    await three_nodes(on)
    await on.change_node("w1", spec={"unschedulable": True})
    await on.arrives("w0")
    await on.step()
    assert await on.moving() == set()
    assert await on.counts() == (3, 1, 1, 1, 0)
    waits = on.told["worker"].waiting
    assert waits["w1"].text == "it is not ready: node w1 is reporting Unschedulable"
    assert (waits["w2"].reason, waits["w2"].text) == (
        "PoolBlocked",
        "maxUnavailable is 1; unavailable: w1",
    )
    await on.change_node("w1", spec={"unschedulable": None})
    await on.step()
    assert await on.moving() == {"w1"}


async def test_a_cordoned_node_on_its_way_is_not_sent_elsewhere(on: Stage) -> None:
    await three_nodes(on)
    await on.change_pool(maxUnavailable=3)
    await on.says("w0", state=names.STATE_WORKING)
    await on.change_node("w0", spec={"unschedulable": True})
    await on.target("v2")
    await on.step()
    assert await on.desired() == {"w0": "v1", "w1": "v2", "w2": "v2"}


async def test_pausing_stops_further_targets_and_lets_the_running_update_end(on: Stage) -> None:
    await three_nodes(on)
    await on.change_pool(paused=True)
    await on.step()
    assert await on.conditions() == "FFF"
    await on.arrives("w0")
    await on.step()
    assert await on.desired() == {"w0": "v1", "w1": "v0", "w2": "v0"}
    assert await on.counts() == (3, 1, 1, 0, 0)
    assert {why.reason for why in on.told["worker"].waiting.values()} == {"PoolPaused"}
    await on.change_pool(paused=False)
    await on.step()
    assert await on.moving() == {"w1"}


async def test_a_pool_that_is_deleted_gives_its_nodes_to_worker(on: Stage) -> None:
    await on.pool("edge", "e1")
    await on.node("e0", "edge", "worker", at="e0")
    await on.step("edge")
    assert (await on.desired())["e0"] == "e1"
    await on.client.delete(resources.MACHINE_CONFIG_POOLS, "edge")
    await on.step("edge")
    assert not on.told["edge"].members, "what a pool knew of its nodes goes with it"
    await on.step("worker")
    assert (await on.desired())["e0"] == "e1", "it is on its way and counts as unavailable"
    await on.arrives("e0")
    await on.step("worker")
    assert (await on.desired())["e0"] == "v1"
    assert await on.counts() == (1, 0, 0, 1, 0)


async def test_a_newborn_that_somebody_changes_meanwhile_holds_up_nobody(on: Stage) -> None:
    """It is labelled in the next pass, and is no candidate of worker's until then."""
    await on.pool("edge", "e1")
    born = {"metadata": {"name": "e1", "ownerReferences": [_owner(await on.status("edge"))]}}
    await on.client.create(resources.MACHINE_CONFIGS, born)
    for name in ("n0", "n1"):
        await on.node(name, at="e1", **{names.FIRST_PIVOT_CONFIG: "e1"})
    await on.look()
    await on.change_node("n0", metadata={"labels": {"example.com/rack": "7"}})
    await on.controller.reconcile("worker")
    roles = {name: node.metadata.label(EDGE) for name, node in (await on.nodes()).items()}
    assert roles == {"n0": None, "n1": ""}
    await on.step("worker")
    assert (await on.nodes())["n0"].metadata.label(EDGE) == ""
    assert await on.desired() == {"n0": "e1", "n1": "e1"}


def _owner(pool: MachineConfigPool) -> dict[str, Any]:
    kind = {"apiVersion": names.API_VERSION, "kind": "MachineConfigPool", "controller": True}
    return kind | {"name": pool.name, "uid": pool.metadata.uid}


async def test_a_node_in_two_custom_pools_is_moved_by_nobody_and_says_so(on: Stage) -> None:
    for name in ("edge", "infra"):
        await on.pool(name, "e1")
    await on.node("n", "edge", "infra", "worker")
    for name in ("edge", "infra", "worker"):
        await on.step(name)
        assert await on.counts(name) == (0, 0, 0, 0, 0)
    await on.explain("")
    text = "node n belongs to 2 custom roles, cannot proceed with this Node"
    assert (await on.desired(), await on.why("n")) == ({"n": "v0"}, ("NoPool", text))
    await on.change_node("n", metadata={"labels": {EDGE: None}})
    await on.step("infra")
    await on.explain("infra")
    assert (await on.desired(), await on.why("n")) == ({"n": "e1"}, ("NoPool", text))
    # Its daemon has not reported since; whoever sees the node arrive takes it back.
    await on.arrives("n")
    await on.step("infra")
    await on.explain("infra")
    assert await on.why("n") is None


async def test_a_target_that_changes_twice_leaves_nobody_behind(on: Stage) -> None:
    await three_nodes(on)
    await on.target("v2")
    await on.step()
    assert await on.desired() == {"w0": "v1", "w1": "v0", "w2": "v0"}, "maxUnavailable is 1"
    await on.target("v3")
    await on.arrives("w0")
    for _ in range(3):
        await on.step()
        (mover,) = await on.moving()
        assert (await on.desired())[mover] == "v3"
        await on.arrives(mover)
    await on.step()
    assert await on.conditions() == "TFF"
    assert set((await on.desired()).values()) == {"v3"}


async def test_a_target_that_goes_back_meets_those_who_never_left(on: Stage) -> None:
    await three_nodes(on)
    await on.target("v0")
    await on.step()
    assert (await on.desired())["w0"] == "v1", "it is on its way and is not stopped"
    await on.arrives("w0")
    await on.step()
    await on.arrives("w0")
    await on.step()
    assert (await on.conditions(), await on.desired()) == ("TFF", {"w0": "v0", "w1": "v0", "w2": "v0"})


async def test_a_reverted_config_reaches_the_broken_node_first_and_costs_nobody_else_a_place(
    on: Stage,
) -> None:
    await three_nodes(on)
    await on.says("w0", state=names.STATE_DEGRADED, reason="no space")
    await on.node("w3", at="v1")
    await on.step()
    assert (await on.conditions(), await on.moving()) == ("FTT", {"w0"})
    # v0 is wanted again: w0, which never got away from it, goes back, and w3 may move beside it.
    await on.target("v0")
    await on.step()
    assert await on.desired() == {"w0": "v0", "w1": "v0", "w2": "v0", "w3": "v0"}


@pytest.mark.parametrize(
    ("value", "moving"),
    [(None, 1), (0, 1), ("0%", 1), (1, 1), (2, 2), ("50%", 2), ("74%", 2), ("150%", 4), (9, 4), (-1, 0)],
)
async def test_how_many_of_four_move(on: Stage, value: Any, moving: int) -> None:
    await on.change_pool(maxUnavailable=value)
    for number in range(4):
        await on.node(f"w{number}")
    await on.step()
    await on.step()
    assert len(await on.moving()) == moving


@pytest.mark.parametrize("value", ["many", "60", "40 %", ""])
async def test_a_word_moves_nobody_and_is_named(on: Stage, value: str) -> None:
    await on.change_pool(maxUnavailable=value)
    await on.node("w0")
    with pytest.raises(InvalidInput, match="string is not a percentage"):
        await on.step()
    await on.explain()
    assert (await on.moving(), await on.conditions(), await on.counts()) == (set(), "FTF", (1, 0, 0, 0, 0))
    ((kind, reason, message),) = on.events.all
    assert (kind, reason) == ("MachineConfigPool/worker", "InvalidMaxUnavailable")
    assert f'"{value}" must be a number of nodes' in message
    said = await on.why("w0")
    assert said and said[0] == "InvalidPool" and "$.spec.maxUnavailable" in said[1]


async def test_two_controllers_at_once_send_off_no_more_than_one(on: Stage) -> None:
    for number in range(3):
        await on.node(f"w{number}")
    caches, second = on.another()
    await on.look()
    await on.look(caches)
    await on.controller.reconcile("worker")
    # The second has seen nothing of it, and wants to send off the same node, and to mark the others.
    before = await on.nodes()
    with pytest.raises(ConflictError):
        await second.reconcile("worker")
    assert (await on.moving(), await on.nodes()) == ({"w0"}, before)


async def test_two_controllers_that_know_different_targets_do_not_undo_each_other(on: Stage) -> None:
    await three_nodes(on)
    caches, second = on.another()
    await on.look(caches)
    await on.target("v2")
    await on.arrives("w0")
    await on.step()
    assert (await on.desired())["w0"] == "v2"
    # The second still believes in v1 and in w0 being on its way.
    await second.reconcile("worker")
    assert await on.desired() == {"w0": "v2", "w1": "v0", "w2": "v0"}
