"""Keeps the status of PodDisruptionBudgets up to date, and spends what they allow.

The status follows the pods a moment later, as it does beside a real server; an eviction computes it anew in
the same step in which it takes from it, so that two evictions never share one disruption. What a crash left
behind is settled at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from mco.api.core import PodDisruptionBudget
from mco.api.meta.selectors import NOTHING, Selector, selector
from mco.apiserver.disruption import spending
from mco.apiserver.disruption import status as statuses
from mco.apiserver.disruption.members import Members
from mco.apiserver.disruption.scale import Scales, UnknownScale
from mco.apiserver.disruption.status import Pod
from mco.apiserver.errors import StatusError
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.store.store import Store
from mco.apiserver.store.writer import label
from mco.apiserver.writes.kubelets import PODS
from mco.apiserver.writes.writes import Options, Writes
from mco.base.errors import MCOError
from mco.runtime.logging import Logger

_log = Logger("mco.apiserver")

Obj = dict[str, Any]

RESOURCE = "poddisruptionbudgets.policy"
PAUSE_SECONDS = 0.05
"""Between two looks at what has changed: a burst of changes is one for a budget."""
RETRY_SECONDS = 1.0

_UNSETTLED = "cannot write the status of a budget"

_budgets = msgspec.json.Decoder(PodDisruptionBudget)


class Budgets:
    """`observe` hears of every commit; `run` writes statuses; `spend` is an eviction's question."""

    def __init__(
        self, store: Store, catalog: Catalog, writes: Writes, options: Callable[[], Options]
    ) -> None:
        served = catalog.of_resource(RESOURCE)
        assert served is not None
        self._served = served
        self._store = store
        self._writes = writes
        self._options = options
        self._scales = Scales(store, catalog)
        self._members = Members()
        self._waiting: dict[Key, None] = {}
        self._wake = asyncio.Event()

    def load(self) -> None:
        """Learns what is stored; every budget is looked at once."""
        for revision in self._store.page(RESOURCE).revisions:
            self.observe(revision)

    def observe(self, revision: Revision) -> None:
        key, gone = revision.key, revision.change is Change.DELETED
        if key.resource == RESOURCE:
            if gone:
                self._members.forget_budget(key)
                return
            wanted = _selector(revision)
            if wanted != self._members.selector(key):
                self._members.note_budget(key, wanted, self._pods(key.namespace))
            self._queue(key)
        elif key.resource == PODS and self._members.watches(key.namespace):
            if gone:
                self._queue(*self._members.forget_pod(key))
            else:
                self._queue(*self._members.note_pod(key, statuses.decode_pod(revision.data)))

    def of(self, pod: Key) -> list[Key]:
        """The budgets that select a Pod."""
        return self._members.budgets(pod)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            waiting, self._waiting = self._waiting, {}
            for key in waiting:
                await self._try_settle(key)
            await asyncio.sleep(PAUSE_SECONDS)

    async def spend(self, budget: Key, pod: Pod, *, dry_run: bool) -> bool:
        """Takes one disruption for the Pod; False where none is needed, because it is unhealthy and may go.

        Raises StatusError 429 when the budget does not allow it, 404 when it is gone."""
        taken = True

        def change(old: Obj) -> Obj:
            nonlocal taken
            now = self._options().writer.now
            status = self._status(budget, old, now)
            taken = pod.ready or not spending.spares_unhealthy(old.get("spec") or {}, status)
            if taken:
                status = spending.spent(old["metadata"], status, pod.metadata.name, now)
            return {**old, "status": status}

        options = msgspec.structs.replace(self._options(), dry_run=dry_run)
        await self._writes.update(self._served, budget.namespace, budget.name, change, options, "status")
        return taken

    def _queue(self, *keys: Key) -> None:
        self._waiting.update(dict.fromkeys(keys))
        if keys:
            self._wake.set()

    def _queue_later(self, key: Key, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._queue, key)

    async def _try_settle(self, key: Key) -> None:
        try:
            await self._settle(key)
        except StatusError as error:
            if error.code != 404:
                _log.warning(_UNSETTLED, object=label(key), error=str(error))
                self._queue_later(key, RETRY_SECONDS)
        except Exception as error:
            _log.exception(_UNSETTLED, error, object=label(key))
            self._queue_later(key, RETRY_SECONDS)

    async def _settle(self, key: Key) -> None:
        options = self._options()

        def change(old: Obj) -> Obj:
            return {**old, "status": self._status(key, old, options.writer.now)}

        data = await self._writes.update(self._served, key.namespace, key.name, change, options, "status")
        again = statuses.recheck(msgspec.json.decode(data)["status"])
        if again is not None:
            self._queue_later(key, (again - options.writer.now).total_seconds() + 1)

    def _status(self, key: Key, budget: Obj, now: datetime) -> Obj:
        try:
            return statuses.status_of(budget, self._members.pods(key), self._scales, now)
        except UnknownScale as error:
            return statuses.failed(budget.get("status") or {}, str(error), now)

    def _pods(self, namespace: str) -> Iterator[tuple[Key, Pod]]:
        for revision in self._store.page(PODS, namespace).revisions:
            yield revision.key, statuses.decode_pod(revision.data)


def _selector(revision: Revision) -> Selector:
    """Nothing where it cannot be understood: what watches the store must not fail."""
    try:
        return selector(_budgets.decode(revision.data).spec.selector)
    except MCOError as error:
        _log.error("a budget cannot be used", object=label(revision.key), error=str(error))
        return NOTHING
