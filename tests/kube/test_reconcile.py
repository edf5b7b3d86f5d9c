"""When a key is looked at again: the decision as a table, and the loop on a virtual clock."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from mco.api.core import Node, Pod
from mco.api.meta.objects import ObjectMeta
from mco.base.errors import HostError, InvalidInput, NotFound, Unavailable
from mco.kube.errors import Status, from_status
from mco.kube.reconcile import Reconciler, Requeue, RetryPolicy, Then, requeue
from tests.kube.scripted import in_virtual_time

POLICY = RetryPolicy()
BACK_OFF = Requeue(Then.BACK_OFF)
A_MINUTE = Requeue(Then.AFTER, 60.0)


def api_error(reason: str, code: int, retry_after: float | None = None) -> Exception:
    return from_status(Status(reason=reason, code=code), retry_after=retry_after)


@pytest.mark.parametrize(
    ("outcome", "failures", "expected"),
    [
        (None, 0, Requeue(Then.FORGET)),
        (None, 7, Requeue(Then.FORGET)),
        (5.0, 0, Requeue(Then.AFTER, 5.0)),
        (InvalidInput("x"), 0, A_MINUTE),
        (api_error("Invalid", 422), 3, A_MINUTE),
        (api_error("Conflict", 409), 0, BACK_OFF),
        (api_error("TooManyRequests", 429, 2.0), 0, Requeue(Then.AFTER, 2.0)),
        (api_error("TooManyRequests", 429), 0, BACK_OFF),
        (api_error("Forbidden", 403), 0, BACK_OFF),
        (Unavailable("x"), 14, BACK_OFF),
        (Unavailable("x"), 15, A_MINUTE),
        (NotFound("x"), 0, BACK_OFF),
        (HostError("x"), 0, BACK_OFF),
        (KeyError("a bug"), 0, BACK_OFF),
        (KeyError("a bug"), 15, A_MINUTE),
    ],
)
def test_the_outcome_decides_when_to_look_again(
    outcome: float | Exception | None, failures: int, expected: Requeue
) -> None:
    assert requeue(outcome, failures, POLICY) == expected


class Passes:
    """A reconcile that fails as it is told and remembers when it was called."""

    def __init__(self, *outcomes: float | Exception | None, effort: float = 0.0) -> None:
        self.times: list[float] = []
        self._outcomes = list(outcomes)
        self._effort = effort

    async def __call__(self, key: str) -> float | None:
        self.times.append(round(asyncio.get_running_loop().time(), 6))
        await asyncio.sleep(self._effort)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def run_for(reconciler: Reconciler, seconds: float) -> None:
    task = asyncio.create_task(reconciler.run())
    await asyncio.sleep(seconds)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


@in_virtual_time
async def test_fifteen_retries_then_a_minute_then_a_fresh_count() -> None:
    passes = Passes(*[Unavailable("down") for _ in range(17)])
    reconciler = Reconciler("test", passes)
    reconciler.enqueue("worker")
    await run_for(reconciler, 1000)
    gaps = [b - a for a, b in itertools.pairwise(passes.times)]
    assert gaps[:15] == pytest.approx([0.005 * 2**n for n in range(15)], abs=1e-4)
    assert gaps[15] == pytest.approx(60)
    assert gaps[16] == pytest.approx(0.005, abs=1e-4)
    assert len(passes.times) == 18


@in_virtual_time
async def test_a_conflict_is_decided_again_at_once() -> None:
    passes = Passes(api_error("Conflict", 409))
    reconciler = Reconciler("test", passes)
    reconciler.enqueue("worker")
    await run_for(reconciler, 10)
    assert passes.times == [0.0, 0.005]


@in_virtual_time
async def test_success_forgets_the_failures_before_it() -> None:
    passes = Passes(Unavailable("x"), Unavailable("x"), None, Unavailable("x"))
    reconciler = Reconciler("test", passes)
    reconciler.enqueue("worker")
    await asyncio.gather(run_for(reconciler, 100), enqueue_at(reconciler, 50))
    assert passes.times == [0.0, 0.005, 0.015, 50.0, 50.005]


async def enqueue_at(reconciler: Reconciler, *times: float) -> None:
    loop = asyncio.get_running_loop()
    for time in times:
        await asyncio.sleep(time - loop.time())
        reconciler.enqueue("worker")


@in_virtual_time
async def test_a_delay_gathers_the_events_in_it() -> None:
    passes = Passes()
    reconciler = Reconciler("test", passes, policy=RetryPolicy(delay=5))
    await asyncio.gather(run_for(reconciler, 60), enqueue_at(reconciler, 1, 2, 3, 20))
    assert passes.times == [6.0, 25.0]


@in_virtual_time
async def test_an_interval_lets_the_first_event_pass_and_spaces_the_rest() -> None:
    passes = Passes()
    reconciler = Reconciler("test", passes, policy=RetryPolicy(interval=0.1))
    times = [1 + n / 100 for n in range(25)]
    await asyncio.gather(run_for(reconciler, 10), enqueue_at(reconciler, *times, 5.0))
    assert passes.times == pytest.approx([1.0, 1.1, 1.2, 1.3, 5.0])


@in_virtual_time
async def test_a_reconcile_may_ask_to_be_called_again() -> None:
    passes = Passes(7.0)
    reconciler = Reconciler("test", passes)
    reconciler.enqueue("worker")
    await run_for(reconciler, 100)
    assert passes.times == [0.0, 7.0]


@in_virtual_time
async def test_a_changed_object_is_enqueued_by_its_key() -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)

    reconciler = Reconciler("test", reconcile)
    one, two = (Node(metadata=ObjectMeta(name=name)) for name in "ab")
    pod = Pod(metadata=ObjectMeta(name="p", namespace="n"))
    for old, new in ((None, one), (two, None), (pod, pod), (None, None)):
        reconciler.changed(old, new)
    await run_for(reconciler, 1)
    assert seen == ["a", "b", "n/p"]


@in_virtual_time
async def test_workers_share_keys_but_never_one_key() -> None:
    most = 0
    busy: set[str] = set()

    async def reconcile(key: str) -> None:
        nonlocal most
        assert key not in busy
        busy.add(key)
        most = max(most, len(busy))
        await asyncio.sleep(1)
        reconciler.enqueue("a")
        busy.remove(key)

    reconciler = Reconciler("test", reconcile, workers=2)
    reconciler.enqueue("a")
    reconciler.enqueue("b")
    await run_for(reconciler, 20.5)
    assert most == 2


@in_virtual_time
async def test_shutting_down_finishes_the_work_in_hand() -> None:
    passes = Passes(effort=3)
    reconciler = Reconciler("test", passes)
    reconciler.enqueue("worker")
    task = asyncio.create_task(reconciler.run())
    await asyncio.sleep(1)
    reconciler.shut_down()
    await task
    assert asyncio.get_running_loop().time() == pytest.approx(3)
