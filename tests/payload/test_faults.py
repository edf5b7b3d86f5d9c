"""A payload applied to a server, or on a way to it, that fails: the pass goes on or is made again, and the
store has gone through the same as if nothing had happened."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api.resources import CONFIG_MAPS
from mco.kube.client import Client
from mco.kube.config import Cluster, load
from mco.kube.http import HTTPTransport
from mco.lab.kubernetes.controlplane import MASTERS
from mco.payload.apply import PayloadError
from mco.payload.manifest import DELETE
from mco.pki import kubeconfig
from tests.kube.between import Passage
from tests.kube.scripted import Answer, Asked, Wire, hold, scripted
from tests.payload.applying import PACE, Counting, Payload
from tests.payload.cluster import PATIENCE, mco
from tests.payload.webhook import Webhook, webhook
from tests.servers.real import ADMIN, RealServer

# The client library says that it is closed before its TLS connections are.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class History:
    """What becomes of the config maps of one test from now on, as the store tells it."""

    def __init__(self, client: Client, suffix: str, since: str) -> None:
        self._client = client
        self._suffix = suffix
        self._since = since

    async def read(self) -> list[str]:
        """`+` created, `~` changed, `-` deleted, each with the file's name; until now."""
        end = await self._client.create(
            CONFIG_MAPS, {"metadata": {"generateName": f"end-{self._suffix}-"}}, namespace="default"
        )
        signs, lines = {"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}, []
        async with asyncio.timeout(PATIENCE), aclosing(self._events()) as events:
            async for event in events:
                if event.object.name == end.name:
                    break
                name, _, suffix = event.object.name.rpartition("-")
                if suffix == self._suffix:
                    lines.append(signs[event.type] + name)
        return lines

    def _events(self) -> Any:
        return self._client.watch(
            CONFIG_MAPS, namespace="default", resource_version=self._since, bookmarks=False
        )


@contextlib.asynccontextmanager
async def history(client: Client, payload: Payload) -> AsyncIterator[History]:
    yield History(client, payload.suffix, (await client.list(CONFIG_MAPS)).resource_version)


async def everything(payload: Payload) -> None:
    """One to create, one to change, one to leave alone, one to remove, and one behind all of them."""
    payload.config_map("0000_80_a_00")
    changed = payload.config_map("0000_80_a_01", {"x": "1"})
    kept = payload.config_map("0000_80_a_02", {"x": "1"})
    gone = payload.config_map("0000_80_a_03")
    for manifest in (changed, kept, gone):
        await payload.objects.create(manifest.body)
    await payload.objects.patch(changed.body, {"data": {"x": "2"}})
    gone.body["metadata"]["annotations"][DELETE] = "true"
    payload.config_map("0000_90_a_00")


DONE = ["+0000-80-a-00", "~0000-80-a-01", "-0000-80-a-03", "+0000-90-a-00"]


async def refused(_passage: Passage, _asked: Asked, wire: Wire, code: int = 0, **headers: str) -> None:
    await wire.status(code, "", "not now", **headers)


async def reset(_passage: Passage, _asked: Asked, wire: Wire) -> None:
    """Nothing of it reaches the server."""
    wire.reset()


async def lost(passage: Passage, asked: Asked, wire: Wire) -> None:
    """It is done, and the answer does not get through."""
    await passage.forward(asked, wire, cut_inside=b"HTTP/1.1")


async def half(passage: Passage, asked: Asked, wire: Wire) -> None:
    """It is done, and the answer breaks off."""
    await passage.forward(asked, wire, cut_inside=b'"metadata"')


async def silent(passage: Passage, asked: Asked, wire: Wire) -> None:
    """What changes something gets no answer for longer than anybody waits."""
    await (passage.forward(asked, wire) if asked.method == "GET" else hold())


@pytest.mark.parametrize(
    "fault",
    [
        functools.partial(refused, code=429, Retry_After="0"),
        functools.partial(refused, code=429),
        functools.partial(refused, code=500),
        functools.partial(refused, code=503),
        reset,
        lost,
        half,
        silent,
    ],
    ids=["429 with a time", "429", "500", "503", "reset", "answer lost", "answer cut", "no answer"],
)
async def test_a_way_on_which_every_request_fails_once(access: Cluster, client: Client, fault: Any) -> None:
    passage, failed = Passage(access), set[tuple[str, ...]]()

    async def answer(asked: Asked, wire: Wire) -> None:
        name = asked.json()["metadata"]["name"] if asked.method == "POST" else ""
        key = (asked.method, asked.path, name)
        if key in failed:
            await passage.forward(asked, wire)
        else:
            failed.add(key)
            await fault(passage, asked, wire)

    payload = Payload(client)
    await everything(payload)
    async with history(client, payload) as happened, scripted(answer) as proxy:
        async with Client(HTTPTransport(proxy.cluster, answer=1.0 if fault is silent else 65.0)) as through:
            await payload.through(through).apply(pace=msgspec.structs.replace(PACE, attempts=4))
        assert await happened.read() == DONE
    assert {method for method, *_ in failed} == {"GET", "POST", "PATCH", "DELETE"}


@pytest.mark.parametrize("after", range(len(DONE)))
async def test_a_way_that_ends_and_is_there_again(access: Cluster, client: Client, after: int) -> None:
    """The pass ends with what is missing; the next one begins where that one stopped."""
    passage, left = Passage(access), after

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal left
        left -= asked.method != "GET"
        await (passage.forward(asked, wire) if left >= 0 else refused(passage, asked, wire, code=500))

    payload = Payload(client)
    await everything(payload)
    async with history(client, payload) as happened, scripted(answer) as proxy:
        async with Client(proxy.cluster) as through:
            with pytest.raises(PayloadError, match="not now"):
                await payload.through(through).apply(pace=msgspec.structs.replace(PACE, attempts=1))
        assert await happened.read() == DONE[:after]
        await payload.through(client).apply()
        assert await happened.read() == DONE


class Meeting(Counting):
    """Whoever looks at an object for the first time waits until the other one has looked, too."""

    def __init__(self, client: Client, barriers: dict[str, asyncio.Barrier]) -> None:
        super().__init__(client)
        self._barriers = barriers
        self._met: set[str] = set()

    async def get(self, body: Any) -> dict[str, Any] | None:
        found = await super().get(body)
        name = body["metadata"]["name"]
        if name not in self._met:
            self._met.add(name)
            await self._barriers.setdefault(name, asyncio.Barrier(2)).wait()
        return found


async def test_two_that_apply_at_once(client: Client) -> None:
    """Each looks at every object before the other one changes it."""
    first = Payload(client)
    await everything(first)
    second = first.through(client)
    barriers: dict[str, asyncio.Barrier] = {}
    first.objects, second.objects = Meeting(client, barriers), Meeting(client, barriers)
    async with history(client, first) as happened:
        await asyncio.gather(first.apply(), second.apply())
        assert await happened.read() == DONE


async def test_an_api_server_that_dies_and_comes_back(real_apiserver: RealServer) -> None:
    async with Client(load(real_apiserver.kubeconfig)) as client:
        payload = Payload(client)
        for number in range(30):
            payload.config_map(f"0000_80_a_{number:02}")
        running = asyncio.create_task(payload.apply(pace=msgspec.structs.replace(PACE, attempts=1)))
        await payload.applied(10)
        await asyncio.to_thread(real_apiserver.stop_apiserver, kill=True)
        try:
            with pytest.raises(PayloadError, match="got no answer"):
                await running
        finally:
            await asyncio.to_thread(real_apiserver.start_apiserver)
        before = len(payload.outcomes)
        assert 10 < before < 30
        assert (await payload.apply())[: before - 1] == [
            f"{manifest.file} unchanged" for manifest in payload.manifests[: before - 1]
        ]
    assert _writes(real_apiserver, payload) == [1] * 30


def _writes(server: RealServer, payload: Payload) -> list[int]:
    """How often each object was stored."""
    found = server.stored("/registry/configmaps/default/")
    return [found[manifest.identity.name] for manifest in payload.manifests]


def test_a_client_certificate_that_has_expired(real_apiserver: RealServer, tmp_path: Path) -> None:
    expired = real_apiserver.authority.client(ADMIN, [MASTERS], datetime.now(UTC), timedelta(minutes=-5))
    access = tmp_path / "kubeconfig"
    ca = real_apiserver.authority.certificate_pem
    access.write_bytes(kubeconfig.with_certificate(real_apiserver.url, ca, ADMIN, expired))
    done = mco(access, "install")
    assert (done.code, done.out) == (1, "")
    assert "error: Unauthorized" in done.err and "client certificate expired?" in done.err


# -- admission


@pytest.fixture
async def admission(real_apiserver: RealServer) -> AsyncIterator[Webhook]:
    """It is asked about config maps of the namespace `admitted`."""
    async with webhook(real_apiserver) as found:
        yield found


async def broken(_asked: Asked, wire: Wire) -> None:
    await wire.raw(b"out of order", 500)


async def hung_up(_asked: Asked, wire: Wire) -> None:
    wire.reset()


async def late(_asked: Asked, _wire: Wire) -> None:
    await hold()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (broken, "an error on the server"),
        (hung_up, "connection reset by peer"),
        (late, "context deadline exceeded"),
    ],
)
async def test_an_admission_webhook_that_fails(
    real_apiserver: RealServer, admission: Webhook, fault: Answer, said: str
) -> None:
    """For a moment: nobody notices but who waits. For long: the pass names object and webhook, and the next
    one goes on."""
    async with Client(load(real_apiserver.kubeconfig)) as client:
        payload = Payload(client)
        for file in ("0000_80_a_00", "0000_80_a_01", "0000_90_a_00"):
            payload.config_map(file).body["metadata"]["namespace"] = admission.namespace
        admission.faults["0000-80-a-00"] = [fault]
        admission.faults["0000-80-a-01"] = [fault] * 2
        with pytest.raises(PayloadError) as caught:
            await payload.apply(pace=msgspec.structs.replace(PACE, attempts=2))
        for part in (said, admission.name, "0000_80_a_01, line 1"):
            assert part in str(caught.value)
        assert payload.outcomes == ["0000_80_a_00 created", "0000_80_a_01 failed"]
        unchanged = ["0000_80_a_00 unchanged"]
        assert await payload.apply() == [*unchanged, "0000_80_a_01 created", "0000_90_a_00 created"]
        stored = real_apiserver.stored(f"/registry/configmaps/{admission.namespace}/")
        assert [stored[manifest.identity.name] for manifest in payload.manifests] == [1, 1, 1]
