"""The queue between events and workers: keys, each at most once, and never at two workers.

A key that is added while it waits is not added again; one that is added while a worker has it comes back when
the worker is done. That is what makes a reconcile of the present state sufficient, however many events led to
it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque


class ExponentialLimiter:
    """Per key: `base * 2^failures` seconds, at most `longest`. Defaults as in client-go (5 ms, 1000 s)."""

    def __init__(self, base: float = 0.005, longest: float = 1000.0) -> None:
        self._base = base
        self._longest = longest
        self._failures: dict[str, int] = {}

    def when(self, key: str) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._base * 2.0 ** min(failures, 64), self._longest)

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)


class Bucket:
    """Over all keys: `burst` at once, then `rate` a second. `reserve(now)` is the wait in seconds of one
    more."""

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._last = 0.0

    def reserve(self, now: float) -> float:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._last) * self._rate)
        self._last = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)


class ShutDown(Exception):
    """`get` has nothing more to give."""


class WorkQueue:
    """Used from one event loop. `get` a key, work, then `done(key)` whatever happened."""

    def __init__(self, limiter: ExponentialLimiter | None = None, bucket: Bucket | None = None) -> None:
        self._limiter = limiter or ExponentialLimiter()
        self._bucket = bucket
        self._ready: deque[str] = deque()
        self._dirty: set[str] = set()
        self._processing: set[str] = set()
        self._due: dict[str, float] = {}
        self._timers: list[tuple[float, str]] = []
        self._waiters: set[asyncio.Future[None]] = set()
        self._down = False

    def __len__(self) -> int:
        """Keys that are ready for a worker."""
        return len(self._ready)

    @property
    def waiting(self) -> int:
        """Keys whose time has not come."""
        return len(self._due)

    def add(self, key: str) -> None:
        if self._down or key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._ready.append(key)
            self._wake()

    def add_after(self, key: str, seconds: float) -> None:
        """Add `key` when `seconds` have passed; of several dates for one key the earliest holds."""
        if self._down:
            return
        if seconds <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._timers, (due, key))
            self._wake()

    def add_rate_limited(self, key: str) -> float:
        """Add `key` after its back-off, and count a failure; returns the seconds."""
        wait = self._limiter.when(key)
        if self._bucket is not None:
            wait = max(wait, self._bucket.reserve(asyncio.get_running_loop().time()))
        self.add_after(key, wait)
        return wait

    def failures(self, key: str) -> int:
        return self._limiter.failures(key)

    def forget(self, key: str) -> None:
        """The key succeeded: its next back-off starts small again."""
        self._limiter.forget(key)

    async def get(self) -> str:
        """The next key. Raises ShutDown when the queue is shut down and empty."""
        while True:
            self._move_due()
            if self._ready:
                key = self._ready.popleft()
                self._dirty.discard(key)
                self._processing.add(key)
                return key
            if self._down:
                raise ShutDown
            await self._wait()

    def done(self, key: str) -> None:
        self._processing.discard(key)
        if key in self._dirty:
            self._ready.append(key)
            self._wake()

    def shut_down(self) -> None:
        """Take no more keys; workers get those that are ready, then ShutDown."""
        self._down = True
        self._due.clear()
        self._timers.clear()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _move_due(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            due, key = heapq.heappop(self._timers)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    async def _wait(self) -> None:
        """Until a key was added or the earliest date has come."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.add(waiter)
        timer = loop.call_at(self._timers[0][0], _resolve, waiter) if self._timers else None
        try:
            await waiter
        except asyncio.CancelledError:
            # A wake-up that reached a worker just as it was cancelled belongs to another one.
            if waiter.done() and not waiter.cancelled():
                self._wake()
            raise
        finally:
            self._waiters.discard(waiter)
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
                return


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
