"""What is acknowledged is kept, what cannot be kept is refused clearly: the embedded server's own file."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mco.apiserver.server import Settings, running
from mco.base.errors import Unavailable
from tests.contract.apiserver.embedded import Process, in_thread
from tests.contract.apiserver.endpoint import Api

MAPS = "/api/v1/namespaces/default/configmaps"


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
