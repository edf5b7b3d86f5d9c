"""All answers for one state of a pool: made once per version, in a thread, and shared by whoever waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from mco.base.errors import MCOError
from mco.configserver.prepared import Prepared

Prepare = Callable[[str], Prepared]
"""From a version to its answer; slow."""


class Generation:
    """`config` is the name of what is served, `identity` is equal for two generations whose bytes are equal.
    `prepared` counts the answers made."""

    def __init__(self, config: str, identity: object, prepare: Prepare) -> None:
        self.config = config
        self.identity = identity
        self.prepared = 0
        self._prepare = prepare
        self._answers: dict[str, Prepared | MCOError] = {}
        self._pending: dict[str, asyncio.Task[Prepared]] = {}

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that were asked for."""
        return (*self._answers, *self._pending)

    def ready(self, version: str) -> Prepared | None:
        """The answer if it is there. Raises MCOError if it is known that there can be none."""
        answer = self._answers.get(version)
        if isinstance(answer, MCOError):
            raise answer
        return answer

    async def get(self, version: str) -> Prepared:
        """The answer. Raises MCOError if it cannot be made, now and ever: nothing here changes."""
        answer = self.ready(version)
        if answer is not None:
            return answer
        task = self._pending.get(version)
        if task is None:
            task = self._pending[version] = asyncio.create_task(self._make(version))
        # Whoever waits may hang up; the others and the next client still want it.
        return await asyncio.shield(task)

    async def warm(self, versions: Iterable[str]) -> None:
        """Have the answers for `versions` ready; one that cannot be made is reported to who asks for it."""
        await asyncio.gather(*(self.get(version) for version in versions), return_exceptions=True)

    async def _make(self, version: str) -> Prepared:
        self.prepared += 1
        try:
            answer = await asyncio.to_thread(self._prepare, version)
        except MCOError as error:
            self._answers[version] = error
            raise
        finally:
            del self._pending[version]
        self._answers[version] = answer
        return answer
