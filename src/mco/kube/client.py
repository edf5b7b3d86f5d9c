"""The typed client: one object or many, as structs decoded straight from bytes.

There is no client rate limit. The server's own fairness is honoured instead: a refusal that says when to come
back (Retry-After) is repeated then, within `patience` seconds altogether; a read whose connection broke is
repeated; a write is not, because it may have happened.

Writers send patches. Whatever a typed view does not declare is absent from it, so a PUT of one would delete
it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Generic, Self, TypeVar

import msgspec

from mco.api.meta.objects import Object
from mco.api.resources import Resource
from mco.base.errors import Unavailable
from mco.kube import requests
from mco.kube.codec import Reject, decode_object, decode_page
from mco.kube.config import Cluster
from mco.kube.errors import APIError, DecodeError, Expired, Unauthorized, Unreachable, from_answer
from mco.kube.http import HTTPTransport
from mco.kube.requests import PatchKind, Request, Selection, WatchFrom
from mco.kube.servertime import ServerTime
from mco.kube.transport import Answer, Transport
from mco.kube.watch import LineSplitter, WatchEvent, decode_event

T = TypeVar("T", bound=Object)
Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]

PAGE = 500
_READ_ATTEMPTS = 5
_LONGEST_WAIT = 30.0


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """All objects of a selection at `resource_version`, from where a watch may start."""

    items: list[T]
    resource_version: str


class Client:
    """`async with Client(cluster) as client`. `before_write` is called right before every write and stops it
    by raising: that is how a leader that lost its lease falls silent. `patience` is in seconds."""

    def __init__(
        self,
        cluster: Cluster | Transport,
        *,
        user_agent: str = "mco",
        patience: float = 60.0,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self._transport: Transport = (
            HTTPTransport(cluster, user_agent=user_agent) if isinstance(cluster, Cluster) else cluster
        )
        self._patience = patience
        self._before_write = before_write
        self._time = ServerTime()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    def guarded(self, before_write: Callable[[], None]) -> Client:
        """A client over the same connections whose writes are checked by `before_write`; close the
        original."""
        return Client(self._transport, patience=self._patience, before_write=before_write)

    @property
    def server_time(self) -> datetime | None:
        """Now, by the clock of the server; None when its last answer did not say."""
        return self._time.now()

    async def get(self, res: Resource[T], name: str, *, namespace: str = "") -> T:
        """Raises NotFoundError."""
        return decode_object(await self._send(requests.one("GET", res, name, namespace=namespace)), res)

    async def list(
        self,
        res: Resource[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        reject: Reject | None = None,
    ) -> Listing[T]:
        """Every selected object, in pages of `limit` (500). When the pages' snapshot expires on the way,
        everything is asked for once more in one piece. An object that is not of its type raises DecodeError,
        or goes to `reject`."""
        selection = Selection(
            namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return await self.list_selection(res, selection, limit=limit or PAGE, reject=reject)

    async def list_selection(
        self, res: Resource[T], selection: Selection, *, limit: int = PAGE, reject: Reject | None = None
    ) -> Listing[T]:
        """`list`, for those who keep their selection as a value."""
        items: list[T] = []
        token = ""
        while True:
            try:
                raw = await self._send(requests.list_page(res, selection, limit=limit, token=token))
            except Expired:
                if not token:
                    raise
                items, token, limit = [], "", 0
                continue
            page = decode_page(raw, res, reject)
            items += page.items or ()
            token = page.metadata.continue_
            if not token:
                return Listing(items, page.metadata.resource_version)

    async def create(self, res: Resource[T], body: Mapping[str, Any], *, namespace: str = "") -> T:
        """Raises AlreadyExists. `apiVersion` and `kind` may be left out of `body`."""
        return decode_object(await self._send(requests.create(res, body, namespace)), res)

    async def patch(
        self,
        res: Resource[T],
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        kind: PatchKind = PatchKind.MERGE,
    ) -> T:
        """Raises ConflictError when `metadata.resourceVersion` in a merge patch is not the present one;
        Invalid when a JSON patch's `test` does not hold."""
        request = requests.one(
            "PATCH", res, name, namespace=namespace, subresource=subresource, body=body, content_type=kind
        )
        return decode_object(await self._send(request), res)

    async def update(
        self,
        res: Resource[T],
        name: str,
        body: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
    ) -> T:
        """Replace a whole object that we made ourselves (a Lease, the approval of a CSR); never a typed
        view."""
        whole = {"apiVersion": res.api_version, "kind": res.kind, **body}
        request = requests.one("PUT", res, name, namespace=namespace, subresource=subresource, body=whole)
        return decode_object(await self._send(request), res)

    async def delete(
        self,
        res: Resource[T],
        name: str,
        *,
        namespace: str = "",
        resource_version: str = "",
        uid: str = "",
        propagation: str = "",
    ) -> None:
        """Raises NotFoundError; ConflictError when it is not the object of that resourceVersion or uid any
        more. `propagation` is Foreground, Background or Orphan."""
        options = requests.delete_options(resource_version, uid, propagation)
        await self._send(requests.one("DELETE", res, name, namespace=namespace, body=options))

    async def watch(
        self,
        res: Resource[T],
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = True,
        timeout_seconds: int = 0,
        reject: Reject | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """What happens after `resource_version`, until the server ends the stream. Raises Expired when it is
        too old (list again), Unreachable when the connection breaks. Close it with `contextlib.aclosing`."""
        selection = Selection(
            namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        start = WatchFrom(resource_version=resource_version, bookmarks=bookmarks, timeout=timeout_seconds)
        async with aclosing(self.watch_selection(res, selection, start, reject=reject)) as events:
            async for event in events:
                yield event

    async def watch_selection(
        self, res: Resource[T], selection: Selection, start: WatchFrom, *, reject: Reject | None = None
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """`watch`, for those who keep their selection as a value; it can also ask for the initial events."""
        request = requests.watch(res, selection, start)
        splitter = LineSplitter()
        # The server ends a watch; the reserve is for one that forgot, or whose end got lost.
        limit = start.timeout + 60.0 if start.timeout else 3600.0
        async with self._transport.stream(request, limit) as stream:
            if stream.status >= 400:
                raise self._refusal(request, Answer(stream.status, stream.headers, await stream.read()))
            async with aclosing(stream.chunks()) as chunks:
                async for chunk in chunks:
                    for line in splitter.feed(chunk):
                        event = _decode(line, res, reject)
                        if event is not None:
                            yield event
        if splitter.inside_a_line:
            raise Unreachable(f"a watch of {res.plural} ended inside an event", subject=res.plural)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str | None = None,
        patience: float | None = None,
    ) -> bytes:
        """Anything else: a subresource with a type of its own, discovery, `/version`. `patience` in place of
        the client's, for those who have their own way of asking again."""
        request = Request(
            method=method,
            path=path,
            params=tuple((params or {}).items()),
            body=None if body is None else requests.encode(body),
            content_type=content_type or requests.JSON_TYPE,
            subject=path,
        )
        return await self._send(request, patience)

    async def _send(self, request: Request, patience: float | None = None) -> bytes:
        """One request, repeated where that is safe and the server or the network gives reason to."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + (self._patience if patience is None else patience)
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._attempt(request)
            except (APIError, Unreachable) as error:
                wait = pause(request, error, attempt)
                if wait is None or loop.time() + wait > give_up:
                    raise
            await asyncio.sleep(wait)

    async def _attempt(self, request: Request) -> bytes:
        if self._before_write is not None and not request.reads:
            self._before_write()
        answer = await self._transport.send(request)
        self._time.hear(answer.headers)
        if answer.status >= 300:
            raise self._refusal(request, answer)
        return answer.body

    def _refusal(self, request: Request, answer: Answer) -> APIError:
        error = from_answer(answer.status, answer.body, answer.headers, subject=request.subject)
        if isinstance(error, Unauthorized):
            self._transport.refused()
        return error


def pause(request: Request, error: APIError | Unavailable, attempt: int) -> float | None:
    """Seconds until the next attempt, None to give up. `attempt` counts from 1.

    - refused with Retry-After (429, 5xx): the server did nothing and says when to come again, for any method;
    - no answer: reads only, five attempts, from 0.1 s doubling, with jitter;
    - 401: once and at once, because a token or certificate may just have been rotated."""
    if isinstance(error, Unauthorized):
        return 0.0 if attempt == 1 else None
    if isinstance(error, APIError):
        if error.retry_after is None or not (error.code == 429 or error.code >= 500):
            return None
        return min(error.retry_after, _LONGEST_WAIT) + random.uniform(0, 0.1)
    if isinstance(error, Unreachable) and request.reads and attempt < _READ_ATTEMPTS:
        return float(0.1 * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))
    return None


def _decode(line: bytes, res: Resource[T], reject: Reject | None) -> WatchEvent[T] | None:
    try:
        return decode_event(line, res)
    except DecodeError as error:
        if reject is None or not error.key:
            raise
        reject(error)
        return None
