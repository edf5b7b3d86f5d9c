"""Which rendered configs stay, and why."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.plan.pool.prune import Decision, Facts, Limits, decide, expired, pool_of
from mco.plan.pool.steadytime import SteadyTime
from mco.plan.pool.uses import Users, Why, in_use, users_text
from tests.factories import node, pool
from tests.rendered import NOW, name_of, rendered, report

MOMENT = datetime.fromisoformat(NOW)
STRICT = Limits(newest=0)
X = name_of(1)


def at(**ago: float) -> str:
    return (MOMENT - timedelta(**ago)).isoformat()


def decided(
    *configs: MachineConfig, limits: Limits = STRICT, served: dict[str, str] | None = None, **users: Any
) -> Decision:
    return decide(Facts(configs=configs, users=Users(**users), served=served or {}), limits, MOMENT)


@pytest.mark.parametrize(
    ("why", "users"),
    [
        (Why.POOL_SPEC, {"pools": [pool(config=X)]}),
        (Why.POOL_STATUS, {"pools": [pool(config="", status={"configuration": {"name": X}})]}),
        (Why.NODE_CURRENT, {"nodes": [node("w1", X, "other")]}),
        (Why.NODE_DESIRED, {"nodes": [node("w1", "other", X)]}),
        (Why.NODE_PENDING, {"reports": [report("w1", desired=X)]}),
        (Why.NODE_PENDING, {"reports": [report("w1", said=X)]}),
        (Why.ROLLBACK_TARGET, {"reports": [report("w1", current=X)]}),
        (Why.IMAGE_BUILD, {"builds": {"build-1": X}}),
    ],
)
def test_what_is_needed_stays(why: Why, users: dict[str, Any]) -> None:
    found = decided(rendered(1), rendered(2), **users)
    assert set(found.reasons[X]) == {why}
    assert [config.name for config in found.unused] == [name_of(2)]


def test_every_reason_is_told() -> None:
    users = {"pools": [pool(config=X)], "nodes": [node("w2", X), node("w1", X)]}
    found = decided(rendered(1, NOW, pinned=True), limits=Limits(), served={X: NOW}, **users)
    assert found.reasons[X] == {
        Why.POOL_SPEC: ("worker",),
        Why.NODE_CURRENT: ("w1", "w2"),
        Why.NODE_DESIRED: ("w1", "w2"),
        Why.SERVED: (),
        Why.YOUNG: (),
        Why.NEWEST: (),
        Why.PINNED: (),
    }


@pytest.mark.parametrize(
    ("served", "stays"),
    [
        (at(hours=23, minutes=59), True),
        (at(hours=24), False),
        (at(hours=-48), True),
        ("yesterday", True),
        ("", True),
        ("2026-06-01T11:59:00", True),
    ],
)
def test_a_config_stays_while_machines_may_boot_with_it(served: str, stays: bool) -> None:
    found = decided(rendered(1), served={X: served})
    assert (Why.SERVED in found.reasons.get(X, {})) is stays
    assert expired({X: served}, STRICT, MOMENT) == ([] if stays else [X])


@pytest.mark.parametrize(
    ("created", "stays"),
    [(at(minutes=59), True), (at(hours=1), False), (at(days=-1), True), (None, True), ("soon", True)],
)
def test_a_young_config_stays(created: str | None, stays: bool) -> None:
    found = decided(rendered(1, created))
    assert (found.unused == ()) is stays
    assert (Why.YOUNG in found.reasons.get(X, {})) is stays


def test_the_newest_of_each_pool_stay() -> None:
    workers = [rendered(n, at(days=n)) for n in range(1, 9)]
    masters = [rendered(n, at(days=90 + n), pool="master") for n in range(3)]
    found = decided(*workers, *masters, limits=Limits(newest=5))
    assert [config.name for config in found.unused] == [name_of(8), name_of(7), name_of(6)]


def test_a_pinned_config_stays() -> None:
    assert decided(rendered(1, pinned=True)).reasons == {X: {Why.PINNED: ()}}


def test_the_oldest_go_first() -> None:
    configs = [
        rendered(1, at(days=1)),
        rendered(2, at(days=3)),
        rendered(3, at(days=3)),
        rendered(4, at(days=2)),
    ]
    assert [config.name for config in decided(*configs).unused] == [name_of(n) for n in (2, 3, 4, 1)]


@pytest.mark.parametrize(
    "more",
    [
        {"name": "rendered-worker-mine"},
        {"name": "00-worker"},
        {"name": f"other-worker-{1:032x}"},
        {"labels": {names.ROLE_LABEL: "worker"}},
        {"annotations": {}},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "controller": True}]},
    ],
)
def test_what_was_not_rendered_is_nobodys_business(more: dict[str, Any]) -> None:
    config = rendered(1, **more)
    assert pool_of(config) == ""
    assert decided(config) == Decision(reasons={}, unused=(), wake=None)


def test_an_orphan_belongs_to_the_pool_of_its_name() -> None:
    assert pool_of(rendered(1, pool="my-pool", ownerReferences=[])) == "my-pool"
    assert pool_of(rendered(1, pool="worker")) == "worker"


def test_a_pool_that_is_being_deleted_keeps_nothing() -> None:
    gone = msgspec.convert(
        {
            "metadata": {"name": "worker", "deletionTimestamp": NOW},
            "spec": {"configuration": {"name": X}},
        },
        MachineConfigPool,
    )
    assert decided(rendered(1), pools=[gone]).reasons == {}


def test_it_says_when_the_first_reason_ends() -> None:
    found = decided(rendered(1, at(minutes=50)), rendered(2), served={name_of(2): at(hours=23)})
    assert found.wake == 600
    assert decided(rendered(1)).wake is None


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (1, "node n00"),
        (2, "nodes n00 and n01"),
        (3, "nodes n00, n01 and n02"),
        (12, "nodes n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more"),
    ],
)
def test_a_text_names_the_nodes(nodes: int, text: str) -> None:
    found = decided(rendered(1), nodes=[node(f"n{n:02}", X) for n in range(nodes)])
    assert users_text(found.reasons[X]) == text


def test_a_text_names_everybody_else() -> None:
    reasons = {Why.POOL_SPEC: ("worker",), Why.IMAGE_BUILD: ("b",), Why.SERVED: (), Why.NEWEST: ()}
    assert users_text(reasons) == (
        "pool worker, image build b, machines that were served it and may be booting"
    )
    assert in_use(reasons) and not in_use({Why.NEWEST: (), Why.YOUNG: (), Why.PINNED: ()})


# The clock


def test_time_goes_on() -> None:
    steady = SteadyTime(patience=3600)
    for seconds in (0, 10, 5000):
        assert steady.now(MOMENT + timedelta(seconds=seconds), seconds) == MOMENT + timedelta(seconds=seconds)


def test_a_jump_ahead_is_not_believed_at_once() -> None:
    steady = SteadyTime(patience=3600)
    day = timedelta(days=1)
    steady.now(MOMENT, 0)
    assert steady.now(MOMENT + day, 0) == MOMENT
    assert steady.now(MOMENT + day + timedelta(seconds=3000), 3000) == MOMENT + timedelta(seconds=3000)
    assert steady.now(MOMENT + day + timedelta(seconds=3600), 3600) == MOMENT + day + timedelta(seconds=3600)


def test_a_jump_that_is_put_right_is_forgotten() -> None:
    steady = SteadyTime(patience=3600)
    steady.now(MOMENT, 0)
    steady.now(MOMENT + timedelta(days=1), 0)
    assert steady.now(MOMENT + timedelta(seconds=3000), 3000) == MOMENT + timedelta(seconds=3000)
    assert steady.now(MOMENT + timedelta(days=1), 4000) == MOMENT + timedelta(seconds=4000)


def test_a_jump_back_only_keeps_more() -> None:
    steady = SteadyTime(patience=3600)
    steady.now(MOMENT, 0)
    yesterday = MOMENT - timedelta(days=1)
    assert steady.now(yesterday, 10) <= yesterday + timedelta(seconds=10)
    assert steady.now(datetime(2026, 6, 1, 12, 0, 20, tzinfo=UTC), 20) < MOMENT


# Size


def test_ten_thousand_configs_and_nodes_are_decided_on_in_two_seconds() -> None:
    """Of the processor's time, which a busy machine does not stretch as it does the clock's."""
    configs = [rendered(n, at(minutes=n), pool=f"p{n % 50}") for n in range(10_000)]
    used = [name_of(n % 700, f"p{n % 50}") for n in range(10_000)]
    users = Users(
        nodes=[node(f"n{n}", config) for n, config in enumerate(used)],
        reports=[report(f"n{n}", desired=config, current=config) for n, config in enumerate(used)],
    )
    began = time.process_time()
    found = decide(Facts(configs=configs, users=users), Limits(), MOMENT)
    assert time.process_time() - began < 2
    assert len(found.unused) == 10_000 - len({*used, *(c.name for c in configs[:250])})
