"""What is acknowledged is kept, what cannot be kept is refused clearly: the embedded server's own file."""

from __future__ import annotations

import asyncio
import resource
import signal
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from mco.apiserver.server import Settings, running
from mco.apiserver.store import database
from mco.base.errors import Conflict, InvalidInput, Unavailable
from tests.contract.apiserver.embedded import Process, in_thread
from tests.contract.apiserver.endpoint import Api

MAPS = "/api/v1/namespaces/default/configmaps"
KILLS = 5
WRITERS = 8


async def _write_until_killed(api: Api, writer: int, acknowledged: dict[str, int]) -> None:
    """Creates and changes objects as fast as it can; notes each revision that was acknowledged."""
    number = 0
    while True:
        name = f"w{writer}-{number % 3}"
        try:
            reply = await api.patch(f"{MAPS}/{name}", {"data": {"n": str(number)}})
            if reply.status == 404:
                reply = await api.post(MAPS, {"metadata": {"name": name}, "data": {"n": str(number)}})
        except (aiohttp.ClientError, OSError):
            return
        assert reply.status in (200, 201), reply.body
        acknowledged[name] = int(reply.body["metadata"]["resourceVersion"])
        number += 1


@pytest.mark.slow
async def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    acknowledged: dict[str, int] = {}
    for _ in range(KILLS):
        before = sum(acknowledged.values())
        with Process(tmp_path) as server:
            await _one_life(server, acknowledged)
        assert sum(acknowledged.values()) > before


async def _one_life(server: Process, acknowledged: dict[str, int]) -> None:
    """Everything of the earlier lives is there; then the server is killed under its writers."""
    async with Api.of(server.kubeconfig.read_bytes()) as api:
        listed = (await api.get(MAPS)).body
        stored = {i["metadata"]["name"]: int(i["metadata"]["resourceVersion"]) for i in listed["items"]}
        for name, number in acknowledged.items():
            assert stored[name] >= number
        revision = listed["metadata"]["resourceVersion"]
        assert int(revision) >= max(acknowledged.values(), default=0)
        writers = [asyncio.create_task(_write_until_killed(api, w, acknowledged)) for w in range(WRITERS)]
        async with api.watch(MAPS, resourceVersion=revision) as events:
            for _ in range(40):
                await events.next()
        server.end(signal.SIGKILL)
        await asyncio.gather(*writers)


async def test_a_watch_goes_on_after_a_restart(tmp_path: Path) -> None:
    """History is stored: a client that was cut off misses nothing."""
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            seen = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
            await api.create(MAPS, {"metadata": {"name": "a"}})
            await api.delete(f"{MAPS}/a")
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with (
            Api.of(server.kubeconfig.read_bytes()) as api,
            api.watch(MAPS, resourceVersion=seen) as events,
        ):
            kinds = [(await events.next())["type"] for _ in range(2)]
            assert kinds == ["ADDED", "DELETED"]
            again = await api.create(MAPS, {"metadata": {"name": "a"}})
            assert int(again["metadata"]["resourceVersion"]) > int(seen) + 2


async def test_compacted_history_is_gone_and_the_rest_is_not(tmp_path: Path) -> None:
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            old = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
            await api.create(MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})
            await api.create(MAPS, {"metadata": {"name": "b"}})
            page = (await api.get(MAPS, limit="1")).body["metadata"]["continue"]
            await api.patch(f"{MAPS}/a", {"data": {"k": "2"}})
            middle = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
            server.core.store.compact(int(middle))
            watched = await api.get(MAPS, watch="true", resourceVersion=old)
            assert (watched.status, watched.body["reason"]) == (410, "Expired")
            assert watched.message == f"too old resource version: {old} ({middle})"
            paged = await api.get(MAPS, continue_=page)
            assert (paged.status, paged.body["reason"]) == (410, "Expired")
            exact = await api.get(MAPS, resourceVersion=old, resourceVersionMatch="Exact")
            assert exact.status == 410
            await api.patch(f"{MAPS}/a", {"data": {"k": "3"}})
            async with api.watch(MAPS, resourceVersion=middle) as events:
                assert (await events.next())["object"]["data"] == {"k": "3"}
            names = [item["metadata"]["name"] for item in (await api.get(MAPS)).body["items"]]
            assert [name for name in names if name in "ab"] == ["a", "b"]


def test_a_second_server_on_the_folder_is_refused(tmp_path: Path) -> None:
    with (
        in_thread(Settings(data_dir=tmp_path)),
        pytest.raises(Conflict, match="another API server uses this data folder"),
        in_thread(Settings(data_dir=tmp_path)),
    ):
        pass


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000, None])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: bytes | None) -> None:
    """An empty file is a fresh start; what is no sound database is refused and left as it is."""
    with in_thread(Settings(data_dir=tmp_path)):
        pass
    path = tmp_path / "objects.db"
    raw = path.read_bytes()
    damaged = raw[:4096] + b"\xff" * (len(raw) - 4096) if damage is None else damage
    path.write_bytes(damaged)
    if not damaged:
        with in_thread(Settings(data_dir=tmp_path)):
            return
    with (
        pytest.raises(InvalidInput, match="the database is damaged") as caught,
        in_thread(Settings(data_dir=tmp_path)),
    ):
        pass
    assert (caught.value.path, bool(caught.value.hint)) == (str(path), True)
    assert path.read_bytes() == damaged


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "objects.db")
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(InvalidInput, match="another program"), in_thread(Settings(data_dir=tmp_path)):
        pass


async def test_a_locked_database_is_reported_and_then_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with in_thread(Settings(data_dir=tmp_path)) as server:
        other = sqlite3.connect(tmp_path / "objects.db", isolation_level=None)
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            other.execute("BEGIN IMMEDIATE")
            refused = await api.post(MAPS, {"metadata": {"name": "a"}})
            assert (refused.status, refused.body["reason"]) == (503, "ServiceUnavailable")
            assert refused.message == "another program holds the database's lock"
            assert refused.headers["Retry-After"] == "1"
            assert (await api.get(f"{MAPS}/a")).status == 404
            other.execute("ROLLBACK")
            other.close()
            await api.create(MAPS, {"metadata": {"name": "a"}})


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """Files may not grow over a megabyte: what a full disk is to SQLite."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = 1024 * 1024
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


async def test_a_full_disk_is_reported_and_nothing_is_half_written(
    tmp_path: Path, file_size_limit: int
) -> None:
    with in_thread(Settings(data_dir=tmp_path)) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, hard))
            written = []
            for number in range(40):
                body = {"metadata": {"name": f"big-{number}"}, "data": {"k": "x" * 100_000}}
                reply = await api.post(MAPS, body)
                if reply.status != 201:
                    break
                written.append(f"big-{number}")
            assert (reply.status, reply.body["reason"]) == (503, "ServiceUnavailable")
            assert written
            listed = [item["metadata"]["name"] for item in (await api.get(MAPS)).body["items"]]
            assert sorted(listed) == sorted(written)
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            await api.create(MAPS, {"metadata": {"name": "again"}})


async def test_events_and_answered_requests_expire(tmp_path: Path) -> None:
    events = "/api/v1/namespaces/default/events"
    now = datetime.now(UTC)
    async with running(Settings(data_dir=tmp_path)) as server, Api.of(server.kubeconfig.read_bytes()) as api:
        for name, last in (("old", now), ("lively", now + timedelta(hours=1))):
            body = {
                "metadata": {"name": name},
                "involvedObject": {"kind": "Node", "name": "n"},
                "lastTimestamp": last.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            await api.create(events, body)
        await server.core.expiry.sweep(now + timedelta(minutes=59))
        assert len((await api.get(events)).body["items"]) == 2
        await server.core.expiry.sweep(now + timedelta(minutes=61))
        assert [item["metadata"]["name"] for item in (await api.get(events)).body["items"]] == ["lively"]


def test_an_address_that_is_taken_is_refused(tmp_path: Path) -> None:
    with in_thread(Settings(data_dir=tmp_path / "a")) as server:
        port = int(server.url.rsplit(":", 1)[1])
        with (
            pytest.raises(Unavailable, match=f"cannot listen on 127.0.0.1:{port}"),
            in_thread(Settings(data_dir=tmp_path / "b", port=port)),
        ):
            pass
    with in_thread(Settings(data_dir=tmp_path / "b", port=port)):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_server_soon_and_cleanly(tmp_path: Path, number: int) -> None:
    with Process(tmp_path) as server:
        async with Api.of(server.kubeconfig.read_bytes()) as api, api.watch(MAPS) as events:
            loop = asyncio.get_running_loop()
            begin = loop.time()
            code = await asyncio.to_thread(server.end, number)
            assert (code, loop.time() - begin < 3) == (0, True), server.output()
            with pytest.raises(EOFError):
                await events.until("never")
        assert "Traceback" not in server.output()
