"""The queue's promises, and its times, on a clock that costs nothing."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mco.kube.workqueue import Bucket, ExponentialLimiter, ShutDown, WorkQueue
from mco.runtime import virtual
from tests.kube.scripted import in_virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_a_key_waits_once_however_often_it_is_added() -> None:
    queue = WorkQueue()
    for key in "abab":
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


@in_virtual_time
async def test_a_key_added_while_in_work_comes_back_when_it_is_done() -> None:
    queue = WorkQueue()
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


@in_virtual_time
async def test_of_several_dates_for_a_key_the_earliest_holds() -> None:
    queue = WorkQueue()
    queue.add_after("a", 30)
    queue.add_after("a", 5)
    queue.add_after("a", 60)
    assert await queue.get() == "a"
    assert now() == pytest.approx(5)
    queue.done("a")
    assert queue.waiting == 0


@in_virtual_time
async def test_a_date_set_while_workers_wait_wakes_them_in_time() -> None:
    queue = WorkQueue()
    queue.add_after("late", 100)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add_after("early", 2)
    assert await waiting == "early"
    assert now() == pytest.approx(3)


@in_virtual_time
async def test_failures_of_a_key_double_its_wait_up_to_the_longest() -> None:
    queue = WorkQueue(ExponentialLimiter(0.005, 1000.0))
    waits = [queue.add_rate_limited("a") for _ in range(20)]
    assert waits[:5] == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert waits[17:] == [pytest.approx(655.36), 1000.0, 1000.0]
    assert queue.failures("a") == 20
    queue.forget("a")
    assert queue.add_rate_limited("a") == 0.005


@in_virtual_time
async def test_the_bucket_lets_a_burst_pass_and_then_ten_a_second() -> None:
    queue = WorkQueue(ExponentialLimiter(0.0), Bucket(10, 100))
    waits = [queue.add_rate_limited(str(number)) for number in range(120)]
    assert waits[:100] == [0.0] * 100
    assert waits[100:] == [pytest.approx((n + 1) / 10) for n in range(20)]


@in_virtual_time
async def test_shutting_down_hands_out_what_is_ready_and_then_ends_every_worker() -> None:
    queue = WorkQueue()
    idle = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.add_after("never", 10)
    queue.shut_down()
    queue.add("b")
    results = await asyncio.gather(*idle, return_exceptions=True)
    assert [r for r in results if isinstance(r, str)] == ["a"]
    assert sum(isinstance(r, ShutDown) for r in results) == 2


@in_virtual_time
async def test_a_wake_up_is_not_lost_with_a_cancelled_worker() -> None:
    queue = WorkQueue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    second_or_first = await asyncio.wait_for(second, 1)
    assert second_or_first == "a"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), max_size=40),
    st.integers(1, 4),
    st.floats(0, 2),
)
def test_no_key_is_lost_and_none_is_at_two_workers(
    additions: list[tuple[str, float]], workers: int, effort: float
) -> None:
    """Every addition is followed by a whole pass that began after it."""
    working: Counter[str] = Counter()
    began: dict[str, float] = {}

    async def work(queue: WorkQueue) -> None:
        while True:
            key = await queue.get()
            working[key] += 1
            assert working[key] == 1
            began[key] = now()
            await asyncio.sleep(effort)
            working[key] -= 1
            queue.done(key)

    async def main() -> None:
        queue = WorkQueue()
        tasks = [asyncio.create_task(work(queue)) for _ in range(workers)]
        last: dict[str, float] = {}
        for key, gap in additions:
            await asyncio.sleep(gap)
            queue.add(key)
            last[key] = now()
        await asyncio.sleep(1000)
        for key, when in last.items():
            assert began[key] >= when
        for task in tasks:
            assert not task.done()
            task.cancel()

    virtual.run(main())
