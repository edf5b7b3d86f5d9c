"""Many watchers, slow ones, and clients that dawdle: what a fleet does to the embedded server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from mco.apiserver.auth.user import authenticated
from mco.apiserver.http import protocol, request
from mco.apiserver.server import Running, Settings, running
from mco.apiserver.store.revision import Change, Key, Revision
from mco.apiserver.watch import hub
from mco.apiserver.watch.hub import Hub
from mco.apiserver.watch.selection import FieldTest, Selection
from tests.contract.apiserver.endpoint import Api

MAPS = "/api/v1/namespaces/default/configmaps"


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
    assert await watchers[7].next(1) is not None
    for watcher in watchers:
        watcher.end()
    assert len(crowd) == 0


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
