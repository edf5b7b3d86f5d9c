"""A cache of one resource that follows the API server, and tells what changed.

List once, then watch from there; after a lost connection go on from the last resourceVersion; when that is
too old list again and report what vanished meanwhile. Handlers see each change once, in order, after the
cache has it.

An object that does not have its type is left as it was, and logged: one odd object never stops the others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from enum import StrEnum
from typing import Generic, TypeVar

from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import InvalidInput, Unavailable
from mco.kube.backoff import Backoff
from mco.kube.client import Client
from mco.kube.errors import (
    APIError,
    BadRequest,
    DecodeError,
    Expired,
    Invalid,
    Unreachable,
    describe,
    is_version_too_large,
)
from mco.kube.requests import Selection, WatchFrom
from mco.kube.store import Indexer, Store, share_parts
from mco.kube.watch import BOOKMARK, DELETED, WatchEvent
from mco.runtime.logging import Logger

T = TypeVar("T", bound=Object)
Handler = Callable[[T | None, T | None], None]
"""`(None, new)` added, `(old, new)` changed, `(old, None)` gone."""
Transform = Callable[[T], T]

_log = Logger("mco.kube.informer")

_WATCH_SECONDS = (300, 600)
"""Each watch is asked to last this long, at random: a fleet's watches do not all return at once."""
_SHORT_WATCH = 1.0
_STREAM_PATIENCE = 30.0


class Start(StrEnum):
    """How the present objects are asked for: LIST in pages, or STREAM by one watch that begins with them
    (WatchList), which costs a large API server less. A server that cannot stream is listed instead."""

    LIST = "list"
    STREAM = "stream"


class Informer(Generic[T]):
    """`transform` reduces an object before it is kept: a MachineConfig cache needs digests, not megabytes."""

    def __init__(
        self,
        client: Client,
        res: Resource[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        transform: Transform[T] | None = None,
        indexers: Mapping[str, Indexer[T]] | None = None,
        start: Start = Start.LIST,
    ) -> None:
        self.store: Store[T] = Store()
        for name, indexer in (indexers or {}).items():
            self.store.add_indexer(name, indexer)
        self._client = client
        self._res = res
        self._selection = Selection(
            namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        self._transform = transform
        self._start = start
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()
        self._version = ""
        self._rejected: set[str] = set()
        self._backoff = Backoff(first=0.2, longest=30.0)

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    @property
    def resource_version(self) -> str:
        """How far the cache has followed."""
        return self._version

    async def synced(self) -> None:
        """Returns once the first complete set of objects is in the store."""
        await self._synced.wait()

    def add_handler(self, handler: Handler[T]) -> None:
        """Call `handler(old, new)` for every change; first, at once, for everything already there."""
        self._handlers.append(handler)
        for obj in list(self.store.values()):
            self._call(handler, None, obj)

    async def run(self) -> None:
        """Follow the server until cancelled. Nothing that a server or network does ends it."""
        while True:
            try:
                if not self._version:
                    await self._load()
                quick = await self._follow()
            except (APIError, Unavailable, InvalidInput) as error:
                await self._recover(error)
            else:
                if quick:
                    await asyncio.sleep(self._backoff.next())

    async def _recover(self, error: APIError | Unavailable | InvalidInput) -> None:
        lost = isinstance(error, Expired) or (isinstance(error, APIError) and is_version_too_large(error))
        if lost:
            self._version = ""
        elif isinstance(error, DecodeError):
            # The stream itself is garbage: do not trust what it said before either.
            self._version = ""
        wait = self._backoff.next()
        if isinstance(error, APIError) and error.retry_after is not None:
            wait = max(wait, min(error.retry_after, 30.0))
        _log.warning(
            "watch interrupted", resource=self._res.plural, again_in=round(wait, 2), **describe(error)
        )
        await asyncio.sleep(wait)

    async def _load(self) -> None:
        if self._start is Start.STREAM:
            try:
                await self._load_streaming()
                return
            except (BadRequest, Invalid) as error:
                _log.info("the server cannot stream lists", resource=self._res.plural, **describe(error))
                self._start = Start.LIST
        self._rejected.clear()
        listing = await self._client.list_selection(self._res, self._selection, reject=self._reject)
        self._replace({obj.key: obj for obj in map(self._prepare, listing.items)}, listing.resource_version)

    async def _load_streaming(self) -> None:
        self._rejected.clear()
        objects: dict[str, T] = {}
        start = WatchFrom(timeout=_watch_seconds(), initial_events=True)
        try:
            async with asyncio.timeout(_STREAM_PATIENCE):
                async with aclosing(self._watch(start)) as events:
                    async for event in events:
                        if event.ends_initial_events:
                            self._replace(objects, event.resource_version)
                            return
                        _collect(objects, event, self._prepare)
        except TimeoutError:
            pass
        # An old server ignores what it does not know and never says that it is through.
        self._start = Start.LIST
        raise Unreachable(f"the initial events of {self._res.plural} did not end", subject=self._res.plural)

    async def _follow(self) -> bool:
        """Watch until the server ends it. Returns whether it ended so early that asking at once would be a
        hot loop."""
        loop = asyncio.get_running_loop()
        began, events_seen = loop.time(), 0
        start = WatchFrom(resource_version=self._version, timeout=_watch_seconds())
        try:
            async with aclosing(self._watch(start)) as events:
                async for event in events:
                    events_seen += 1
                    self._apply(event)
        finally:
            quick = not events_seen and loop.time() - began < _SHORT_WATCH
            if not quick:
                self._backoff.reset()
        return quick

    def _watch(self, start: WatchFrom) -> AsyncGenerator[WatchEvent[T], None]:
        return self._client.watch_selection(self._res, self._selection, start, reject=self._reject)

    def _apply(self, event: WatchEvent[T]) -> None:
        if event.type == BOOKMARK:
            self._version = event.resource_version
            return
        if event.type == DELETED:
            old = self.store.pop(event.object.key)
            self._tell(old or event.object, None)
        else:
            new = self._prepare(event.object)
            self._tell(self.store.put(new), new)
        # Only after the change is in the store: whoever stops in between sees it again.
        self._version = event.resource_version

    def _replace(self, objects: dict[str, T], version: str) -> None:
        """The whole truth as of `version`: report what is new, what changed and what vanished unseen."""
        gone = [key for key in self.store if key not in objects and key not in self._rejected]
        for key in gone:
            self._tell(self.store.pop(key), None)
        for key, new in objects.items():
            old = self.store.get(key)
            if old is None or old.metadata.resource_version != new.metadata.resource_version:
                self.store.put(new)
                self._tell(old, new)
        self._version = version
        self._backoff.reset()
        self._synced.set()

    def _prepare(self, obj: T) -> T:
        if self._transform is not None:
            obj = self._transform(obj)
        share_parts(obj, self.store.get(obj.key))
        return obj

    def _reject(self, error: DecodeError) -> None:
        self._rejected.add(error.key)
        _log.error("object ignored", resource=self._res.plural, **describe(error))

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._call(handler, old, new)

    def _call(self, handler: Handler[T], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception as error:
            # A bug in one reader must not stop the cache that all the others read.
            obj = new or old
            _log.exception("handler failed", error, resource=self._res.plural, key=obj.key if obj else "")


def _collect(objects: dict[str, T], event: WatchEvent[T], prepare: Callable[[T], T]) -> None:
    if event.type == DELETED:
        objects.pop(event.object.key, None)
    elif event.type != BOOKMARK:
        objects[event.object.key] = prepare(event.object)


def _watch_seconds() -> int:
    return random.randint(*_WATCH_SECONDS)
