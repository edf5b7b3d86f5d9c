"""What handlers work with: the store, who watches it, what is served, and the writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from mco.apiserver.admission.policies import Policies
from mco.apiserver.auth.aggregation import Aggregation
from mco.apiserver.auth.roles import Roles
from mco.apiserver.auth.user import MASTERS
from mco.apiserver.disruption.budgets import Budgets
from mco.apiserver.disruption.evictions import Evictions
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.definitions import Definitions
from mco.apiserver.store.revision import Revision
from mco.apiserver.store.store import Store
from mco.apiserver.strategies.strategy import Writer
from mco.apiserver.watch.hub import Hub
from mco.apiserver.writes.deletions import Deletions
from mco.apiserver.writes.expiry import Expiry
from mco.apiserver.writes.garbage import Garbage
from mco.apiserver.writes.writes import Options, Writes
from mco.runtime import memory

REMINDED_AT_ONCE = 50


def wall_clock() -> datetime:
    return datetime.now(UTC)


class Core:
    """Opens the data folder; must be made on the event loop that serves it. `now` is what objects are stamped
    with."""

    def __init__(self, folder: Path, now: Callable[[], datetime] = wall_clock) -> None:
        self.now = now
        self.catalog = Catalog()
        self.definitions = Definitions(self.catalog)
        self.store = Store(folder, self._committed)
        self.hub = Hub(self.store.at)
        self.hub.reached = self.store.current()
        self._crowd = 0
        self.writes = Writes(self.store)
        self.deletions = Deletions(self.writes)
        self.definitions.load(self.store)
        self.policies = Policies(self.store, self.catalog)
        self.policies.load()
        self.roles = Roles(self.store)
        self.roles.load()
        self.aggregation = Aggregation(self.store, self.catalog, self.writes, self.own)
        self.garbage = Garbage(self.store, self.catalog, self.writes, self.own)
        self.garbage.load()
        self.expiry = Expiry(self.store, self.catalog, self.writes, self.own)
        self.writes.on_commit = self.garbage.observe
        self.budgets = Budgets(self.store, self.catalog, self.writes, self.own)
        self.budgets.load()
        self.evictions = Evictions(self.writes, self.deletions, self.budgets)

    def end_watches(self) -> None:
        for watcher in tuple(self.hub.watchers()):
            watcher.end()

    def close(self) -> None:
        self.store.close()

    def own(self) -> Options:
        """For what the server itself writes."""
        return Options(Writer("system:apiserver", (MASTERS,), self.now()))

    async def tick(self) -> None:
        """Once in a while: compaction, and bookmarks, for a few watchers at a time, because others want to be
        served meanwhile; when most watchers have left, their memory goes back to the system."""
        self.store.forget(time.monotonic())
        for number, watcher in enumerate(tuple(self.hub.watchers()), start=1):
            watcher.remind()
            if number % REMINDED_AT_ONCE == 0:
                await asyncio.sleep(0)
        crowd = len(self.hub)
        if crowd < self._crowd // 2:
            memory.give_back()
        self._crowd = crowd

    def _committed(self, revisions: list[Revision]) -> None:
        # Definitions first: whoever hears that a CustomResourceDefinition exists may use it at once.
        changed = [self.definitions.observe(revision) for revision in revisions]
        for revision in revisions:
            self.policies.observe(revision)
            self.roles.observe(revision)
            self.aggregation.observe(revision)
            self.budgets.observe(revision)
        self.hub.hand_out(revisions)
        for resource in filter(None, changed):
            # Watches that began under another schema end; their clients start again under the new one.
            self.hub.end_all(resource)
