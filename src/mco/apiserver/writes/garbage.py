"""What goes when something else goes: dependents, the contents of a namespace, the objects of a definition.

One task settles one object at a time, from the stored state: is it to be removed because its owners are
gone, or does its own removal wait for something that can be done now? Whatever may change the answer puts the
object into the queue again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mco.apiserver.errors import StatusError
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.store.store import Store
from mco.apiserver.store.writer import label
from mco.apiserver.strategies.namespaces import RESOURCE as NAMESPACES
from mco.apiserver.writes.deletion import Deletion, Preconditions
from mco.apiserver.writes.kubelets import NODES, PODS, runs_containers
from mco.apiserver.writes.ownership import Owner, Ownership, owners_of
from mco.apiserver.writes.writes import FOREGROUND, ORPHAN, Options, Writes, stored
from mco.base.errors import MCOError
from mco.runtime.logging import Logger

_log = Logger("mco.apiserver")

Obj = dict[str, Any]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
RETRY_SECONDS = 1.0
_PAGE = 200


class _Envelope(msgspec.Struct):
    """Of objects of a megabyte, only this is decoded."""

    metadata: dict[str, Any]


_envelopes = msgspec.json.Decoder(_Envelope)


class Garbage:
    """`observe` hears of every commit; `run` does the work."""

    def __init__(
        self, store: Store, catalog: Catalog, writes: Writes, options: Callable[[], Options]
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._writes = writes
        self._options = options
        self._ownership = Ownership(catalog)
        self._waiting: dict[Key, None] = {}
        self._wake = asyncio.Event()
        self._terminating: set[Key] = set()

    def load(self) -> None:
        """Learns what is stored; whatever was left undone when the server ended is queued again."""
        for served in {served.resource: served for served in self._catalog}.values():
            for revision in self._all(served.resource):
                metadata = _envelopes.decode(revision.data).metadata
                self.observe(revision.key, Change.ADDED, {"metadata": metadata})

    def observe(self, key: Key, change: Change, obj: Obj) -> None:
        metadata = obj["metadata"]
        if change is Change.DELETED:
            self._terminating.discard(key)
            self._queue(*self._ownership.forget(key, metadata["uid"]))
            self._queue(*(each for each in self._terminating if _waits(each, key)))
            return
        owners = owners_of(metadata)
        if self._ownership.note(key, owners):
            self._queue(key)
        if metadata.get("deletionTimestamp"):
            self._terminating.add(key)
            self._queue(key)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                try:
                    await self._settle(key)
                except StatusError as error:
                    if error.code not in (404, 409):
                        _log.warning("cannot settle an object", object=label(key), error=str(error))
                    if error.code != 404:
                        self._again(key)
                except MCOError as error:
                    _log.warning("cannot settle an object", object=label(key), error=str(error))
                    self._again(key)
                except Exception as error:
                    _log.exception("cannot settle an object", error, object=label(key))
                    self._again(key)

    def _queue(self, *keys: Key) -> None:
        self._waiting.update(dict.fromkeys(keys))
        if keys:
            self._wake.set()

    def _again(self, key: Key) -> None:
        asyncio.get_running_loop().call_later(RETRY_SECONDS, self._queue, key)

    async def _settle(self, key: Key) -> None:
        revision = self._store.get(key)
        served = self._catalog.of_resource(key.resource)
        if revision is None or served is None:
            return
        obj = stored(served, revision)
        if obj["metadata"].get("deletionTimestamp"):
            await self._remove(served, key, obj)
        elif owners := owners_of(obj["metadata"]):
            await self._check_owners(served, key, obj, owners)

    async def _check_owners(self, served: Served, key: Key, obj: Obj, owners: list[Owner]) -> None:
        """Deletes what no owner keeps; takes away references to owners that are gone."""
        gone = {owner.uid for owner in owners if not self._exists(owner, key)}
        if len(gone) == len(owners):
            await self._delete(served, key, uid=obj["metadata"]["uid"])
        elif gone:
            await self._drop_references(served, key, gone)

    async def _remove(self, served: Served, key: Key, obj: Obj) -> None:
        """Does what the removal of a deleted object waits for, and takes its finalizer when it is done."""
        finalizers = obj["metadata"].get("finalizers") or ()
        uid = obj["metadata"]["uid"]
        if FOREGROUND in finalizers and not await self._delete_dependents(uid):
            await self._take_finalizer(served, key, FOREGROUND)
        if ORPHAN in finalizers:
            await self._release_dependents(uid)
            await self._take_finalizer(served, key, ORPHAN)
        if CLEANUP in finalizers and not await self._empty(self._instances(key)):
            await self._take_finalizer(served, key, CLEANUP)
        if key.resource == NAMESPACES and not await self._empty(self._contents(key.name)):
            await self._writes.finalize(served, key, self._options())
        if key.resource == PODS and not runs_containers(self._store, obj):
            await self._delete(served, key, uid, grace=0)

    async def _delete_dependents(self, uid: str) -> int:
        """Deletes what the object owns; how many of those are left that it has to wait for."""
        blocking = 0
        for key in self._ownership.dependents(uid):
            served, revision = self._catalog.of_resource(key.resource), self._store.get(key)
            if served is None or revision is None:
                continue
            owners = owners_of(stored(served, revision)["metadata"])
            if any(owner.uid != uid and self._exists(owner, key) for owner in owners):
                await self._drop_references(served, key, {uid})
                continue
            gone = await self._delete(served, key)
            blocking += not gone and any(owner.uid == uid and owner.blocks for owner in owners)
        return blocking

    async def _release_dependents(self, uid: str) -> None:
        for key in self._ownership.dependents(uid):
            served = self._catalog.of_resource(key.resource)
            if served is not None and self._store.get(key) is not None:
                await self._drop_references(served, key, {uid})

    async def _empty(self, revisions: Iterator[Revision]) -> int:
        """Deletes all of them; how many are still there because somebody has to act first."""
        left = 0
        for revision in revisions:
            served = self._catalog.of_resource(revision.key.resource)
            if served is not None:
                left += not await self._delete(served, revision.key)
        return left

    def _instances(self, definition: Key) -> Iterator[Revision]:
        return self._all(definition.name)

    def _contents(self, namespace: str) -> Iterator[Revision]:
        for resource in {served.resource for served in self._catalog if served.namespaced}:
            yield from self._all(resource, namespace)

    def _all(self, resource: str, namespace: str = "") -> Iterator[Revision]:
        after = ("", "")
        while True:
            page = self._store.page(resource, namespace, after=after, limit=_PAGE)
            yield from page.revisions
            if not page.more:
                return
            after = (page.revisions[-1].key.namespace, page.revisions[-1].key.name)

    def _exists(self, owner: Owner, dependent: Key) -> bool:
        """Whether an owner is there; one of a kind that is not served counts as there."""
        key = self._ownership.key_of(owner, dependent.namespace)
        if key is None:
            return True
        revision = self._store.get(key)
        return revision is not None and _envelopes.decode(revision.data).metadata["uid"] == owner.uid

    async def _delete(self, served: Served, key: Key, uid: str = "", grace: int | None = None) -> bool:
        try:
            asked = Deletion(preconditions=Preconditions(uid=uid), grace=grace)
            _, gone = await self._writes.delete(served, key.namespace, key.name, self._options(), asked)
        except StatusError as error:
            if error.code != 404:
                raise
            return True
        return gone

    async def _drop_references(self, served: Served, key: Key, uids: set[str]) -> None:
        def change(old: Obj) -> Obj:
            kept = [ref for ref in old["metadata"].get("ownerReferences") or () if ref["uid"] not in uids]
            return {**old, "metadata": {**old["metadata"], "ownerReferences": kept}}

        await self._writes.update(served, key.namespace, key.name, change, self._options())

    async def _take_finalizer(self, served: Served, key: Key, finalizer: str) -> None:
        def change(old: Obj) -> Obj:
            kept = [each for each in old["metadata"].get("finalizers") or () if each != finalizer]
            return {**old, "metadata": {**old["metadata"], "finalizers": kept}}

        await self._writes.update(served, key.namespace, key.name, change, self._options())


def _waits(waiting: Key, gone: Key) -> bool:
    """Whether a deleted object may have waited for another one: a namespace or a definition for its contents,
    a Pod for the kubelet of its Node."""
    if waiting.resource == NAMESPACES:
        return gone.namespace == waiting.name
    if waiting.resource == PODS:
        return gone.resource == NODES
    return waiting.resource == DEFINITIONS and gone.resource == waiting.name
