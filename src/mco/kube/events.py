"""Events on objects, for people who ask what happened.

`Recorder.event` never waits, never raises and never fails the work it reports on. A background task writes;
when the server is slow and the queue is full, new events are dropped. The same event again within ten minutes
does not add an object, it raises the count of the first one, as client-go's correlator does; so
does what happens again before it was written.

Core/v1 events. One on a cluster-scoped object goes to the namespace of the recorder, which then also stands
in `involvedObject.namespace`: the API server refuses an event whose two namespaces differ (spec/render.md
1.1).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Protocol

import msgspec

from mco.api.meta.objects import Object, ObjectReference
from mco.api.resources import EVENTS
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import AlreadyExists, NotFoundError, describe
from mco.runtime.clock import Clock, SystemClock, rfc3339
from mco.runtime.logging import Logger

NORMAL, WARNING = "Normal", "Warning"

_log = Logger("mco.kube.events")

_WINDOW = 600.0
_REMEMBERED = 4096
_QUEUED = 1000


class EventSink(Protocol):
    """What the rest of the program needs of a recorder."""

    def event(self, regarding: Object | ObjectReference, type_: str, reason: str, message: str) -> None: ...


class _Happened(msgspec.Struct):
    """What waits to be written: something that happened `times` times from `first` to `last` (RFC 3339)."""

    regarding: ObjectReference
    type: str
    reason: str
    message: str
    first: str
    last: str
    times: int = 1


class _Written(msgspec.Struct):
    """An event object of ours on the server; `last` is on the monotonic clock."""

    name: str
    count: int
    last: float


class Recorder:
    """`component` is the event source, as `machineconfigcontroller-nodecontroller`; `host` the node it runs
    on."""

    def __init__(
        self, client: Client, component: str, namespace: str, *, host: str = "", clock: Clock | None = None
    ) -> None:
        self._client = client
        self._component = component
        self._namespace = namespace
        self._host = host
        self._clock = clock or SystemClock()
        self._queue: OrderedDict[tuple[str, ...], _Happened] = OrderedDict()
        self._written: OrderedDict[tuple[str, ...], _Written] = OrderedDict()
        self._writer: asyncio.Task[None] | None = None
        self._serial = 0
        self._closed = False
        self.dropped = 0

    def event(self, regarding: Object | ObjectReference, type_: str, reason: str, message: str) -> None:
        """Report that `reason` happened to an object; `type_` is Normal or Warning."""
        now = rfc3339(self._clock.now())
        happened = _Happened(self._reference(regarding), type_, reason, message, now, now)
        waiting = self._queue.get(_identity(happened))
        if waiting is not None:
            waiting.times += 1
            waiting.last = now
            return
        if self._closed or len(self._queue) >= _QUEUED:
            self.dropped += 1
            return
        self._queue[_identity(happened)] = happened
        if self._writer is None:
            try:
                self._writer = asyncio.get_running_loop().create_task(self._write_all())
            except RuntimeError:
                # No loop, nobody to write: outside a server an event has no reader either.
                self._queue.clear()
                self.dropped += 1

    async def flush(self) -> None:
        """Returns when everything reported so far is written or was given up."""
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def close(self, patience: float = 2.0) -> None:
        """Takes no more, and gives what is waiting `patience` seconds to be written: to be called before the
        client is closed."""
        self._closed = True
        writer = self._writer
        if writer is None:
            return
        _, late = await asyncio.wait({writer}, timeout=patience)
        for task in late:
            self.dropped += len(self._queue)
            self._queue.clear()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _write_all(self) -> None:
        failures: list[Exception] = []
        try:
            while self._queue:
                _, happened = self._queue.popitem(last=False)
                try:
                    await self._write(happened)
                except Exception as error:
                    self.dropped += 1
                    failures.append(error)
        finally:
            self._writer = None
            _report(failures)

    async def _write(self, happened: _Happened) -> None:
        if not await self._raise_count(happened):
            await self._create(happened)

    async def _raise_count(self, happened: _Happened) -> bool:
        """Whether the same event is still there and was counted up."""
        written = self._written.get(_identity(happened))
        if written is None or self._clock.monotonic() - written.last > _WINDOW:
            return False
        body = {"count": written.count + happened.times, "lastTimestamp": happened.last}
        try:
            await self._client.patch(EVENTS, written.name, body, namespace=happened.regarding.namespace)
        except NotFoundError:
            return False
        written.count += happened.times
        written.last = self._clock.monotonic()
        return True

    async def _create(self, happened: _Happened) -> None:
        body = self._body(happened)
        try:
            await self._client.create(EVENTS, body, namespace=happened.regarding.namespace)
        except AlreadyExists:
            # Another process reported on the same object in the same microsecond.
            body["metadata"]["name"] = self._name(happened)
            await self._client.create(EVENTS, body, namespace=happened.regarding.namespace)
        self._remember(happened, body["metadata"]["name"])

    def _remember(self, happened: _Happened, name: str) -> None:
        self._written[_identity(happened)] = _Written(name, happened.times, self._clock.monotonic())
        self._written.move_to_end(_identity(happened))
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _body(self, happened: _Happened) -> dict[str, Any]:
        source = {"component": self._component}
        if self._host:
            source["host"] = self._host
        return {
            "metadata": {"name": self._name(happened), "namespace": happened.regarding.namespace},
            "involvedObject": msgspec.to_builtins(happened.regarding),
            "type": happened.type,
            "reason": happened.reason,
            "message": happened.message,
            "source": source,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            "count": happened.times,
            "firstTimestamp": happened.first,
            "lastTimestamp": happened.last,
        }

    def _name(self, happened: _Happened) -> str:
        """`<object>.<hex>` as client-go's, the number being the time in ns with a serial in its last
        digits."""
        self._serial = (self._serial + 1) % 1000
        nanoseconds = int(self._clock.now().timestamp() * 1e6) * 1000 + self._serial
        return f"{happened.regarding.name}.{nanoseconds:x}"

    def _reference(self, regarding: Object | ObjectReference) -> ObjectReference:
        if isinstance(regarding, Object):
            meta = regarding.metadata
            regarding = ObjectReference(
                kind=regarding.kind,
                namespace=meta.namespace,
                name=meta.name,
                uid=meta.uid,
                api_version=regarding.api_version,
                resource_version=meta.resource_version,
            )
        if not regarding.namespace:
            regarding = msgspec.structs.replace(regarding, namespace=self._namespace)
        return regarding


def _report(failures: list[Exception]) -> None:
    """One line for all of them: they usually share their cause, a server that is away."""
    if not failures:
        return
    last = failures[-1]
    if isinstance(last, MCOError):
        _log.warning("events not written", events=len(failures), **describe(last))
    else:
        _log.exception("events not written", last, events=len(failures))


def _identity(happened: _Happened) -> tuple[str, ...]:
    about = happened.regarding
    return (
        about.kind,
        about.namespace,
        about.name,
        about.uid,
        about.field_path,
        happened.type,
        happened.reason,
        happened.message,
    )
