"""How the agent waits: until something that decides changes, or for a while, with longer whiles after
failures."""

from __future__ import annotations

import asyncio

from mco.daemon.notify import Notifier
from mco.kube.backoff import Backoff


class Pause:
    """`first` and `longest` are seconds of the waits after failures."""

    def __init__(self, notifier: Notifier, *, first: float, longest: float) -> None:
        self._notifier = notifier
        self._wake = asyncio.Event()
        self._backoff = Backoff(first=first, longest=longest)

    def end(self) -> None:
        """Something decisive changed: go on now, and count failures from the beginning."""
        self._backoff.reset()
        self._wake.set()

    def begin_pass(self) -> None:
        """What changes from here on is not seen by the pass that begins."""
        self._wake.clear()

    def succeeded(self) -> None:
        self._backoff.reset()

    async def wait(self, seconds: float | None, status: str) -> None:
        """Until `end` is called, or `seconds` have passed. `status` is what the service manager shows."""
        self._notifier.status(status)
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def after_failure(self, status: str) -> None:
        await self.wait(self._backoff.next(), status)
