"""Time that passes only while everything waits.

`VirtualTimeLoop` is an ordinary event loop whose clock stands still while any callback is ready, any socket
has something to read or any thread is busy. When all of it waits for a timer, the clock jumps to that
timer. Hours of back-off run in milliseconds, in the order in which they would really run.

Used by tests and by simulations; `run(main())` is the way in.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_START = datetime(2026, 1, 1, tzinfo=UTC)
_SOCKET_GRACE = 0.002
"""Real seconds that a registered socket is given to become readable before the clock jumps: what a peer in
the same process has sent is there at once, a peer in the kernel's queues is not."""


class _Waits(Protocol):
    def jump(self, seconds: float) -> None: ...

    def held(self) -> bool: ...


class _JumpingSelector(selectors.BaseSelector):
    """Asks the real selector first; where the loop would sleep, moves the clock instead."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.owner: _Waits | None = None

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        owner = self.owner
        if owner is None or timeout is None or owner.held():
            # Nothing will ever happen by time alone, or a thread of ours decides: really wait.
            return self._real.select(timeout)
        if timeout <= 0:
            return self._real.select(0)
        only_own_pipe = len(self._real.get_map()) <= 1
        events = self._real.select(0 if only_own_pipe else _SOCKET_GRACE)
        if not events:
            owner.jump(timeout)
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop at which only waiting takes time, and no real time."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        self._holds = 0
        selector = _JumpingSelector()
        super().__init__(selector)
        selector.owner = self

    def time(self) -> float:
        return self._virtual_now

    def jump(self, seconds: float) -> None:
        self._virtual_now += seconds

    def held(self) -> bool:
        return self._holds > 0

    def hold(self) -> None:
        """Let time stand still until as many `release` as `hold` were called."""
        self._holds += 1

    def release(self) -> None:
        self._holds -= 1

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self.hold()
        future.add_done_callback(lambda _: self.release())
        return future


class VirtualClock:
    """The clock of a `VirtualTimeLoop`; it starts at `start` and must be used from that loop."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


@contextlib.contextmanager
def work_outside() -> Iterator[None]:
    """Round an `await` of something that another thread of ours does (a database writer): a virtual clock
    stands still meanwhile, as it does by itself for executors. On an ordinary loop this does nothing."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        yield
        return
    loop.hold()
    try:
        yield
    finally:
        loop.release()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end in virtual time, on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
