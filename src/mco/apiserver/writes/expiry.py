"""What Kubernetes removes by itself after a while: events, and requests for certificates that are answered
or forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mco.apiserver.errors import StatusError
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.store.revision import Revision
from mco.apiserver.store.store import Store
from mco.apiserver.writes.deletion import Deletion, Preconditions
from mco.apiserver.writes.writes import Options, Writes
from mco.base.errors import MCOError
from mco.runtime.logging import Logger

_log = Logger("mco.apiserver")

Obj = dict[str, Any]

SWEEP_SECONDS = 300.0
EVENT_LIFETIME = timedelta(hours=1)
ANSWERED_REQUEST_LIFETIME = timedelta(hours=1)
PENDING_REQUEST_LIFETIME = timedelta(hours=24)
_PAGE = 200


class Expiry:
    """`sweep` removes what is too old at a time; `run` does so every five minutes."""

    def __init__(
        self, store: Store, catalog: Catalog, writes: Writes, options: Callable[[], Options]
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._writes = writes
        self._options = options

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.sweep(datetime.now(UTC))
            except MCOError as error:
                _log.warning("cannot remove what has expired", error=str(error))

    async def sweep(self, now: datetime) -> None:
        for resource, lifetime in _LIFETIMES.items():
            after = ("", "")
            while True:
                page = self._store.page(resource, after=after, limit=_PAGE)
                for revision in page.revisions:
                    if _touched(revision) + lifetime(revision) < now:
                        await self._remove(resource, revision)
                if not page.more:
                    break
                after = (page.revisions[-1].key.namespace, page.revisions[-1].key.name)
                await asyncio.sleep(0)

    async def _remove(self, resource: str, revision: Revision) -> None:
        served = self._catalog.of_resource(resource)
        if served is None:
            return
        unchanged = Deletion(preconditions=Preconditions(resource_version=str(revision.number)))
        try:
            await self._writes.delete(
                served, revision.key.namespace, revision.key.name, self._options(), unchanged
            )
        except StatusError as error:
            if error.code not in (404, 409):
                raise


def _touched(revision: Revision) -> datetime:
    """When an object last showed life, by the times that it carries."""
    obj = msgspec.json.decode(revision.data)
    times = (
        obj["metadata"]["creationTimestamp"],
        obj.get("lastTimestamp"),
        obj.get("eventTime"),
        (obj.get("series") or {}).get("lastObservedTime"),
    )
    return _latest(time for time in times if time)


def _latest(times: Iterable[str]) -> datetime:
    return max(datetime.fromisoformat(time.replace("Z", "+00:00")) for time in times)


def _request_lifetime(revision: Revision) -> timedelta:
    status = msgspec.json.decode(revision.data).get("status") or {}
    return ANSWERED_REQUEST_LIFETIME if status.get("conditions") else PENDING_REQUEST_LIFETIME


_LIFETIMES: dict[str, Callable[[Revision], timedelta]] = {
    "events": lambda _revision: EVENT_LIFETIME,
    "certificatesigningrequests.certificates.k8s.io": _request_lifetime,
}
