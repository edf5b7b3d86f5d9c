"""The loop that makes things so: take a key, reconcile it, decide from the outcome when to look again.

The one decision is `requeue`, a pure function. The scheme is the original's (spec/render.md 1.1): up to 15
retries with exponential back-off, then a pause of a minute and the count starts again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import Enum

import msgspec

from mco.api.meta.objects import Object
from mco.base.errors import Conflict, InvalidInput, MCOError
from mco.kube.errors import AlreadyExists, APIError, describe
from mco.kube.workqueue import Bucket, ExponentialLimiter, ShutDown, WorkQueue
from mco.runtime.logging import Logger, bound

Reconcile = Callable[[str], Awaitable[float | None]]
"""Bring the object `key` to its desired state. Returns None when it is there, or seconds until the next look;
raises when it could not."""

_log = Logger("mco.kube.reconcile")


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`delay`: seconds between an event and its reconcile, in which further events coalesce. `interval`:
    least seconds between two passes over one key; the first event after a quiet time is not delayed by it.
    `retries` with `base * 2^n` seconds of back-off, then `pause` seconds and a fresh count."""

    delay: float = 0.0
    interval: float = 0.0
    retries: int = 15
    base: float = 0.005
    longest: float = 1000.0
    pause: float = 60.0
    bucket: bool = True


class Then(Enum):
    FORGET = "forget"
    AFTER = "after"
    BACK_OFF = "back off"


class Requeue(msgspec.Struct, frozen=True):
    """`FORGET`: wait for the next event. `AFTER`: forget the failures, come back in `seconds`. `BACK_OFF`:
    come back after the key's back-off, and count a failure."""

    then: Then
    seconds: float = 0.0


def requeue(outcome: float | Exception | None, failures: int, policy: RetryPolicy) -> Requeue:
    """When to look at a key again. `failures` counts the back-offs since the last success.

    - success: when it asked to, else at the next event;
    - InvalidInput: only a change helps, and a change is an event; what has no watch is seen after `pause`;
    - Conflict: somebody was faster, so decide again at once, on the newer state; backing off when it goes on;
    - refused with Retry-After: then;
    - anything else: back off up to `retries` times, then `pause`."""
    if outcome is None:
        return Requeue(Then.FORGET)
    if not isinstance(outcome, Exception):
        return Requeue(Then.AFTER, outcome)
    if isinstance(outcome, InvalidInput):
        return Requeue(Then.AFTER, policy.pause)
    if isinstance(outcome, APIError) and outcome.retry_after is not None:
        return Requeue(Then.AFTER, outcome.retry_after)
    if failures < policy.retries:
        return Requeue(Then.BACK_OFF)
    return Requeue(Then.AFTER, policy.pause)


class Reconciler:
    """A queue and `workers` that empty it. `enqueue` is what informer handlers call."""

    def __init__(
        self, name: str, reconcile: Reconcile, *, workers: int = 1, policy: RetryPolicy | None = None
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._workers = workers
        self._policy = policy or RetryPolicy()
        self._passes: dict[str, float] = {}
        self.queue = WorkQueue(
            ExponentialLimiter(self._policy.base, self._policy.longest),
            Bucket() if self._policy.bucket else None,
        )

    def enqueue(self, key: str) -> None:
        """Have `key` reconciled soon."""
        self.queue.add_after(key, max(self._policy.delay, self._rest(key)))

    def enqueue_after(self, key: str, seconds: float) -> None:
        self.queue.add_after(key, seconds)

    def changed(self, old: Object | None, new: Object | None) -> None:
        """An informer's handler that enqueues the object itself."""
        for obj in (new, old):
            if obj is not None:
                self.enqueue(obj.key)
                return

    async def run(self) -> None:
        """Work until cancelled; a key in work is then cancelled at its next wait."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-{number}")

    def shut_down(self) -> None:
        """Finish what is ready and return from `run`."""
        self.queue.shut_down()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                with bound(controller=self.name, key=key):
                    await self._one(key)
            finally:
                self.queue.done(key)

    async def _one(self, key: str) -> None:
        self._note_pass(key)
        began = time.perf_counter()
        outcome: float | Exception | None
        try:
            outcome = await self._reconcile(key)
        except Exception as error:
            outcome = error
        decision = requeue(outcome, self.queue.failures(key), self._policy)
        again = self._carry_out(key, decision)
        if isinstance(outcome, Exception):
            _report(outcome, again)
        else:
            _log.debug("reconciled", seconds=round(time.perf_counter() - began, 4))

    def _carry_out(self, key: str, decision: Requeue) -> float:
        if decision.then is Then.BACK_OFF:
            return self.queue.add_rate_limited(key)
        self.queue.forget(key)
        if decision.then is Then.AFTER:
            self.queue.add_after(key, max(decision.seconds, self._rest(key)))
        return decision.seconds

    def _note_pass(self, key: str) -> None:
        if self._policy.interval <= 0:
            return
        now = asyncio.get_running_loop().time()
        if len(self._passes) > 1000:
            self._passes = {k: t for k, t in self._passes.items() if now - t < self._policy.interval}
        self._passes[key] = now

    def _rest(self, key: str) -> float:
        """Seconds until `key` may be looked at again."""
        if self._policy.interval <= 0 or key not in self._passes:
            return 0.0
        return self._passes[key] + self._policy.interval - asyncio.get_running_loop().time()


def _report(error: Exception, again: float) -> None:
    if isinstance(error, Conflict) and not isinstance(error, AlreadyExists):
        _log.debug("overtaken, deciding again", **describe(error))
    elif isinstance(error, MCOError):
        _log.warning("reconcile failed", again_in=round(again, 3), **describe(error))
    else:
        _log.exception("reconcile failed unexpectedly", error, again_in=round(again, 3))
