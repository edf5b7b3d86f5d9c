"""Requests of `mco up` itself outlive an API server that is started again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mco.base.errors import Unavailable
from mco.kube.backoff import Backoff

T = TypeVar("T")


async def patiently(attempt: Callable[[], Awaitable[T]], seconds: float = 60.0) -> T:
    """The answer of `attempt`, asked again while the server is away: it must bear being carried out twice.
    Raises the last Unavailable after `seconds`, and every other error at once."""
    backoff = Backoff(first=0.1, longest=2.0)
    end = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            return await attempt()
        except Unavailable:
            if asyncio.get_running_loop().time() > end:
                raise
        await asyncio.sleep(backoff.next())
