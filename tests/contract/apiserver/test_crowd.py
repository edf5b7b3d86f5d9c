"""Many watchers, slow ones, and clients that dawdle: what a fleet does to the embedded server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp
import pytest

from mco.apiserver import core
from mco.apiserver.auth.user import authenticated
from mco.apiserver.http import protocol, request
from mco.apiserver.server import Running, Settings, application, running
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.watch import hub
from mco.apiserver.watch.hub import Hub
from mco.apiserver.watch.selection import FieldTest, Selection
from tests.contract.apiserver.endpoint import Api

MAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"
WATCHERS = 5_000
CHANGES, SIZE = 20, 50_000


@contextlib.asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[tuple[Running, Api]]:
    async with (
        running(Settings(data_dir=folder)) as server,
        Api.of(server.kubeconfig.read_bytes()) as api,
    ):
        yield server, api


def _named(name: str) -> Selection:
    return Selection(fields=(FieldTest("metadata.name", name),))


def _revision(number: int, name: str) -> Revision:
    return Revision(number, Key("nodes", "", name), Change.ADDED, 0, b'{"metadata":{}}')


async def test_a_change_costs_only_those_whom_it_concerns() -> None:
    """Five thousand nodes watch themselves; a change of one is offered to one watcher."""
    offered: list[str] = []

    class Counting(Hub):
        def _concerned(self, revision: Revision) -> tuple[hub.Watcher, ...]:
            concerned = super()._concerned(revision)
            offered.extend(watcher.selection.name for watcher in concerned)
            return concerned

    crowd = Counting(lambda number: None)
    watchers = [crowd.add("nodes", _named(f"n{i}"), lambda: None) for i in range(5000)]
    crowd.hand_out([_revision(1, "n7"), _revision(2, "n9")])
    assert offered == ["n7", "n9"]
    assert await watchers[7].next() is not None
    for watcher in watchers:
        watcher.end()
    assert len(crowd) == 0


class Crowd:
    """Thousands who watch a Node by name, each its own one, without the cost of thousands of connections."""

    def __init__(self, server: Running) -> None:
        tokens = {"secret": authenticated("admin", ("system:masters",))}
        settings = Settings(data_dir=server.kubeconfig.parent, tokens=tokens)
        self._application = application(server.core, settings)
        self._tasks: list[asyncio.Task[None]] = []
        self.sent: list[bytes] = []

    async def join(self, name: str) -> None:
        """Returns when the watch stands."""
        stands = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            stands.set()
            if body := message.get("body"):
                self.sent.append(body)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/nodes",
            "query_string": f"watch=true&fieldSelector=metadata.name%3D{name}".encode(),
            "headers": [(b"authorization", b"Bearer secret")],
            "state": {"connection": protocol.Connection(None, lambda: None)},
        }
        self._tasks.append(asyncio.create_task(self._application(scope, None, send)))
        await stands.wait()

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.contextmanager
def _counted_calls() -> Iterator[list[str]]:
    """Python functions as they are called on this thread: a measure of time that no other load disturbs."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


async def test_five_thousand_watchers_by_name_cost_what_they_receive(tmp_path: Path) -> None:
    """A change of one Node takes as many steps with 5,000 watchers as with 5, and leaves nothing behind."""
    async with _server(tmp_path) as (server, api):
        for number in range(5):
            await api.create(NODES, {"metadata": {"name": f"n{number}"}})
        crowd = Crowd(server)
        for number in range(5):
            await crowd.join(f"n{number}")
        await _change_nodes(api, crowd)
        with _counted_calls() as few:
            await _change_nodes(api, crowd)
        for number in range(5, WATCHERS):
            await crowd.join(f"n{number}")
        with _counted_calls() as many:
            await _change_nodes(api, crowd)
        tracemalloc.start()
        try:
            await _change_nodes(api, crowd)
            crowd.sent.clear()
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        await crowd.leave()
    assert len(many) < len(few) * 1.3
    assert kept < CHANGES * SIZE / 2


async def _change_nodes(api: Api, crowd: Crowd) -> None:
    """Each change is received by the one whom it concerns."""
    for number in range(CHANGES):
        crowd.sent.clear()
        text = f"{number}" * SIZE
        await api.patch(f"{NODES}/n{number % 5}", {"metadata": {"annotations": {"k": text[:SIZE]}}})
        await _until(lambda: bool(crowd.sent))
        assert len(crowd.sent) == 1


async def test_watchers_share_what_is_sent(tmp_path: Path) -> None:
    async with _server(tmp_path) as (_, api), contextlib.AsyncExitStack() as stack:
        watches = [await stack.enter_async_context(api.watch(MAPS)) for _ in range(20)]
        await api.create(MAPS, {"metadata": {"name": "a"}})
        seen = [await events.next() for events in watches]
        assert all(event == seen[0] for event in seen)


async def test_a_watch_that_is_left_is_forgotten(tmp_path: Path) -> None:
    async with _server(tmp_path) as (server, api):
        before = len(server.core.hub)
        async with api.watch(MAPS):
            assert len(server.core.hub) == before + 1
        await _until(lambda: len(server.core.hub) == before)


async def test_a_slow_watcher_is_dropped_and_the_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "QUEUE_LIMIT", 10)
    async with _server(tmp_path) as (server, api):
        async with api.watch(MAPS) as quick, api.watch(MAPS, fieldSelector="metadata.name!=x") as slow:
            names = []
            for number in range(40):
                # Enough to fill what the sockets hold, so that the one who does not read falls behind.
                body = {"metadata": {"name": f"c{number}"}, "data": {"k": "x" * 500_000}}
                await api.create(MAPS, body)
                names.append((await quick.next())["object"]["metadata"]["name"])
            assert names == [f"c{number}" for number in range(40)]
            with pytest.raises((EOFError, aiohttp.ClientError)):
                await slow.until("never")
        await _until(lambda: len(server.core.hub) == 0)


async def test_what_a_dropped_watcher_had_not_read_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "QUEUE_LIMIT", 10)
    async with _server(tmp_path) as (server, api), api.watch(MAPS):
        tracemalloc.start()
        try:
            for number in range(100):
                await api.create(MAPS, {"metadata": {"name": f"c{number}"}, "data": {"k": "x" * 500_000}})
                if not len(server.core.hub):
                    break
            assert len(server.core.hub) == 0
            await api.get("/readyz")
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert kept < 4_000_000, "eight objects; eleven were waiting"


async def test_bookmarks_come_to_all_who_want_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "REMINDED_AT_ONCE", 2)
    async with _server(tmp_path) as (server, api), contextlib.AsyncExitStack() as stack:
        query = {"allowWatchBookmarks": "true"}
        watches = [await stack.enter_async_context(api.watch(MAPS, **query)) for _ in range(5)]
        made = await api.create(MAPS, {"metadata": {"name": "a"}})
        await server.core.tick()
        for events in watches:
            seen = [await events.next() for _ in range(2)]
            assert [event["type"] for event in seen] == ["ADDED", "BOOKMARK"]
            versions = {event["object"]["metadata"]["resourceVersion"] for event in seen}
            assert versions == {made["metadata"]["resourceVersion"]}


async def test_a_client_that_says_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "RECEIVE_SECONDS", 0.1)
    async with _server(tmp_path) as (server, _api):
        reader, writer = await _connect(server)
        writer.write(b"GET /healthz HTT")
        assert await reader.read() == b""
        writer.close()


async def test_a_body_that_does_not_come_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "BODY_SECONDS", 0.1)
    tokens = {"secret": authenticated("admin", ("system:masters",))}
    async with running(Settings(data_dir=tmp_path, tokens=tokens)) as server:
        reader, writer = await _connect(server)
        head = (
            f"POST {MAPS} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\nContent-Length: 9\r\n\r\n{{"
        )
        writer.write(head.encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def _connect(server: Running) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = Api.stranger(server.kubeconfig.read_bytes()).context
    return await asyncio.open_connection("127.0.0.1", int(server.url.rsplit(":", 1)[1]), ssl=context)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the server announces it to nobody
            await asyncio.sleep(0.01)
