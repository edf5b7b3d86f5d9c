"""The machine's side of the agent: one thread through which every call to the host goes.

The event loop goes on renewing leases and following watches while an action writes or a service restarts. A
host is not for several threads at once, so there is exactly one, and what is asked for is done in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Worker:
    """`async with Worker() as worker: await worker(function, ...)`. `stopping` is set when a call was
    cancelled: a function that does several things then ends between two of them."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="host")
        self.stopping = False

    async def __aenter__(self) -> Worker:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result. A cancelled call waits for the function's end, so that nobody ever touches
        the machine beside an action that still runs."""
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stopping = True
            await asyncio.gather(running, return_exceptions=True)
            raise
