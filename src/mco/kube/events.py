"""Events on objects, for people who ask what happened.

`Recorder.event` never waits, never raises and never fails the work it reports on. A background task writes;
when the server is slow and the queue is full, new events are dropped. The same event again within ten minutes
does not add an object, it raises the count of the first one, as client-go's correlator does.

Core/v1 events. One on a cluster-scoped object goes to the namespace of the recorder, which then also stands
in `involvedObject.namespace`: the API server refuses an event whose two namespaces differ (spec/render.md
1.1).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
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


class _Happened(msgspec.Struct, frozen=True):
    regarding: ObjectReference
    type: str
    reason: str
    message: str
    time: str


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
        self._queue: deque[_Happened] = deque()
        self._written: OrderedDict[tuple[str, ...], _Written] = OrderedDict()
        self._writer: asyncio.Task[None] | None = None
        self._serial = 0
        self.dropped = 0

    def event(self, regarding: Object | ObjectReference, type_: str, reason: str, message: str) -> None:
        """Report that `reason` happened to an object; `type_` is Normal or Warning."""
        if len(self._queue) >= _QUEUED:
            self.dropped += 1
            return
        happened = _Happened(self._reference(regarding), type_, reason, message, rfc3339(self._clock.now()))
        self._queue.append(happened)
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

    async def _write_all(self) -> None:
        try:
            while self._queue:
                await self._write(self._queue.popleft())
        finally:
            self._writer = None

    async def _write(self, happened: _Happened) -> None:
        try:
            if not await self._raise_count(happened):
                await self._create(happened)
        except MCOError as error:
            self.dropped += 1
            fields = {"event_reason": happened.reason, "object": happened.regarding.name}
            _log.warning("event not written", **fields, **describe(error))
        except Exception as error:
            self.dropped += 1
            _log.exception("event not written", error, event_reason=happened.reason)

    async def _raise_count(self, happened: _Happened) -> bool:
        """Whether the same event is still there and was counted up."""
        written = self._written.get(_identity(happened))
        if written is None or self._clock.monotonic() - written.last > _WINDOW:
            return False
        body = {"count": written.count + 1, "lastTimestamp": happened.time}
        try:
            await self._client.patch(EVENTS, written.name, body, namespace=happened.regarding.namespace)
        except NotFoundError:
            return False
        written.count += 1
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
        self._written[_identity(happened)] = _Written(name, 1, self._clock.monotonic())
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
            "count": 1,
            "firstTimestamp": happened.time,
            "lastTimestamp": happened.time,
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
