"""The write operations: read, decide, commit; one at a time for each object."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from mco.apiserver import errors
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.store.store import Store
from mco.apiserver.strategies.strategy import Writer
from mco.apiserver.writes import pipeline, size
from mco.apiserver.writes.deletion import Deletion, check_preconditions, deleted, is_kept

Obj = dict[str, Any]

NAME_ATTEMPTS = 8
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


Admit = Callable[[Served, Obj | None, Obj | None], None]
"""Sees what is about to be stored (None: it is deleted), and what was (None: nothing). Raises StatusError to
refuse it."""


def admit_all(_served: Served, _new: Obj | None, _old: Obj | None) -> None:
    """The server's own writes."""


class Options(msgspec.Struct, frozen=True):
    writer: Writer
    dry_run: bool = False
    admit: Admit = admit_all
    warnings: list[str] = msgspec.field(default_factory=list)


def _ignore(_key: Key, _change: Change, _obj: Obj) -> None:
    """Until somebody listens."""


class Writes:
    """All changes of objects go through here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: weakref.WeakValueDictionary[Key, asyncio.Lock] = weakref.WeakValueDictionary()
        self._lengthy = asyncio.Lock()
        self.on_commit: Callable[[Key, Change, Obj], None] = _ignore

    def read(self, served: Served, namespace: str, name: str) -> Revision:
        """Raises StatusError 404."""
        revision = self._store.get(served.key(namespace, name))
        if revision is None:
            raise errors.not_found(served.plural, served.group, name)
        return revision

    async def create(self, served: Served, namespace: str, body: Any, options: Options) -> bytes:
        """The created object. Raises StatusError 409 AlreadyExists, 422 Invalid, 400."""
        sent = pipeline.identify(served, body, namespace)
        self._check_place(served, namespace)
        if sent["metadata"].get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            # As the real server: a plain error, without a reason.
            raise errors.StatusError(500, "", message)
        generated = bool(sent["metadata"].get("generateName") and not sent["metadata"].get("name"))
        for _ in range(NAME_ATTEMPTS if generated else 1):
            obj = pipeline.new_object(served, {**sent, "metadata": dict(sent["metadata"])}, options.writer)
            obj = await self._checked(served, obj, None)
            options.admit(served, obj, None)
            key = served.key(namespace, obj["metadata"]["name"])
            async with self._alone(key):
                if self._store.get(key) is not None:
                    continue
                # Again, because the checks may have taken a while.
                self._check_place(served, namespace)
                if options.dry_run:
                    return msgspec.json.encode(obj)
                return (await self._commit(key, Change.ADDED, 0, obj)).data
        raise errors.already_exists(served.plural, served.group, key.name)

    def _check_place(self, served: Served, namespace: str) -> None:
        """Nothing new where everything is being deleted."""
        if served.terminating:
            message = "create not allowed while custom resource definition is terminating"
            raise errors.StatusError(405, "MethodNotAllowed", message)
        if not served.namespaced:
            return
        revision = self._store.get(Key("namespaces", "", namespace))
        if revision is None:
            raise errors.not_found("namespaces", "", namespace)
        if "deletionTimestamp" in msgspec.json.decode(revision.data)["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise errors.forbidden(served.plural, served.group, "", why)

    async def update(
        self,
        served: Served,
        namespace: str,
        name: str,
        change: Callable[[Obj], Any],
        options: Options,
        subresource: str = "",
    ) -> bytes:
        """The object after `change`, which gets the stored object and returns the wanted one.

        What it returns is refused with 409 when it carries another resourceVersion or uid than the stored
        object. Writers of one object take turns, so that without a version nobody is refused."""
        async with self._alone(served.key(namespace, name)):
            current = self.read(served, namespace, name)
            old = stored(served, current)
            sent = pipeline.identify(served, change(old), namespace, name)
            _check_identity(served, sent, old, current)
            new = pipeline.updated_object(served, sent, old, subresource, options.writer)
            new = await self._checked(served, new, old)
            options.admit(served, new, old)
            if _same(new, old):
                return current.data
            if options.dry_run:
                new["metadata"]["resourceVersion"] = str(current.number)
                return msgspec.json.encode(new)
            return (await self._replace(served, current, new)).data

    async def _checked(self, served: Served, new: Obj, old: Obj | None) -> Obj:
        """Whose rules take long is looked at beside the event loop, one such object at a time."""
        found = served.strategy.validate_briefly(new, old)
        if found is None:
            async with self._lengthy:
                found = await asyncio.to_thread(served.strategy.validate, new, old)
        return pipeline.checked(served, new, old, found)

    async def delete(
        self,
        served: Served,
        namespace: str,
        name: str,
        options: Options,
        asked: Deletion = Deletion(),  # noqa: B008 - immutable
    ) -> tuple[bytes, bool]:
        """The object, and whether it is gone already; otherwise it waits, marked.

        Raises StatusError 404, 409."""
        async with self._alone(served.key(namespace, name)):
            current = self.read(served, namespace, name)
            old = stored(served, current)
            check_preconditions(served, old, asked.preconditions)
            options.admit(served, None, old)
            new, gone = deleted(served, old, asked, options.writer.now)
            if new == old and not gone:
                return current.data, False
            if options.dry_run:
                return msgspec.json.encode(new), gone
            change = Change.DELETED if gone else Change.MODIFIED
            return (await self._commit(current.key, change, current.number, new)).data, gone

    @contextlib.asynccontextmanager
    async def _alone(self, key: Key) -> AsyncIterator[None]:
        """Nobody else changes the object meanwhile: what is read is what the change is made to."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            yield

    async def _replace(self, served: Served, current: Revision, new: Obj) -> Revision:
        """Stores an update; one that took the last finalizer of a deleted object removes it."""
        ends = new["metadata"].get("deletionTimestamp") and not is_kept(served, new)
        change = Change.DELETED if ends else Change.MODIFIED
        return await self._commit(current.key, change, current.number, new)

    async def _commit(self, key: Key, change: Change, previous: int, obj: Obj) -> Revision:
        def build(number: int) -> bytes:
            obj["metadata"] = _with_version(obj["metadata"], number)
            data = msgspec.json.encode(obj)
            size.check(data)
            return data

        revision = await self._store.write(key, change, previous=previous, build=build)
        self.on_commit(key, change, obj)
        return revision

    async def finalize(self, served: Served, key: Key, options: Options) -> None:
        """Lets an empty namespace go."""

        def change(old: Obj) -> Obj:
            return {**old, "spec": {**old["spec"], "finalizers": []}}

        await self.update(served, key.namespace, key.name, change, options, "finalize")


def stored(served: Served, revision: Revision) -> Obj:
    """A stored object as the served version shows it."""
    obj: Obj = msgspec.json.decode(revision.data)
    obj["apiVersion"] = served.api_version
    return obj


def _with_version(metadata: Obj, number: int) -> Obj:
    """Metadata in one order, whoever wrote it, so that equal objects have equal bytes."""
    return dict(sorted({**metadata, "resourceVersion": str(number)}.items()))


def _same(new: Obj, old: Obj) -> bool:
    def comparable(obj: Obj) -> Obj:
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}}

    return comparable(new) == comparable(old)


def _check_identity(served: Served, sent: Obj, old: Obj, current: Revision) -> None:
    asked, uid = sent["metadata"].get("resourceVersion") or "", old["metadata"]["uid"]
    if asked and asked != str(current.number):
        raise errors.conflict(served.plural, served.group, current.key.name)
    if (wanted := sent["metadata"].get("uid") or uid) != uid:
        why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"
        raise errors.conflict(served.plural, served.group, current.key.name, why)
