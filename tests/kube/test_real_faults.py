"""What goes wrong between our client and a real API server: whatever happened, the cache is right."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api.core import ConfigMap
from mco.api.resources import CONFIG_MAPS, NAMESPACES
from mco.kube.client import Client
from mco.kube.config import Cluster, Material, User, load
from mco.kube.errors import Unauthorized
from mco.kube.informer import Informer, Start
from mco.lab.kubernetes.controlplane import MASTERS
from mco.pki import files
from mco.pki.authority import Pair
from tests.kube.between import Passage, in_turn
from tests.kube.scripted import Answer, Asked, Journal, ScriptedServer, Wire, scripted
from tests.servers.real import ADMIN, RealServer

# The client library says that it is closed before its TLS connections are.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

_numbers = itertools.count(1)


class Followed:
    """An informer over the config maps of a fresh namespace, behind a proxy; `direct` goes round it."""

    def __init__(self, direct: Client, through: Client, proxy: ScriptedServer, start: Start) -> None:
        self.direct, self.through, self.proxy = direct, through, proxy
        self.namespace = f"faults-{next(_numbers)}"
        self.informer: Informer[ConfigMap] = Informer(
            through, CONFIG_MAPS, namespace=self.namespace, start=start
        )
        self.journal = Journal()

    async def make(self, name: str, **data: str) -> ConfigMap:
        return await self.direct.create(
            CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, namespace=self.namespace
        )

    async def arrived(self, obj: ConfigMap) -> None:
        """Returns when the informer has told of its creation."""
        async with asyncio.timeout(30):
            await self.journal.until(f"+{obj.key}@{obj.metadata.resource_version}")

    @property
    def told(self) -> list[str]:
        """What the informer told, without revisions, as `+a`."""
        return [line.partition("@")[0].replace(f"{self.namespace}/", "") for line in self.journal.lines]


@contextlib.asynccontextmanager
async def following(
    server: RealServer, answer: Answer, *, start: Start = Start.LIST
) -> AsyncIterator[Followed]:
    """The namespace holds `a` when the informer starts, and the informer has synced and watches."""
    async with (
        scripted(answer) as proxy,
        Client(load(server.kubeconfig)) as direct,
        Client(proxy.cluster) as through,
    ):
        followed = Followed(direct, through, proxy, start)
        await direct.create(NAMESPACES, {"metadata": {"name": followed.namespace}})
        await followed.make("a")
        followed.informer.add_handler(followed.journal)
        task = asyncio.create_task(followed.informer.run())
        try:
            async with asyncio.timeout(30):
                await followed.informer.synced()
                await proxy.until_watches(1)
            yield followed
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
def passage(real_apiserver: RealServer) -> Passage:
    return Passage(load(real_apiserver.kubeconfig))


async def test_a_watch_that_the_server_ends_is_resumed_from_its_last_word(
    real_apiserver: RealServer, passage: Passage
) -> None:
    async def short(asked: Asked, wire: Wire) -> None:
        await passage.forward(asked, wire, timeoutSeconds="2")

    async with following(real_apiserver, in_turn(passage, short)) as followed:
        b = await followed.make("b")
        await followed.arrived(b)
        await followed.proxy.until_watches(2)
        await followed.arrived(await followed.make("c"))
        assert followed.told == ["+a", "+b", "+c"]
        assert len(followed.proxy.lists) == 1
        resumed = int(followed.proxy.watches[1].version)
        assert resumed >= int(b.metadata.resource_version)


async def test_initial_events_are_streamed(real_apiserver: RealServer, passage: Passage) -> None:
    async with following(real_apiserver, in_turn(passage), start=Start.STREAM) as followed:
        await followed.arrived(await followed.make("b"))
        assert followed.told == ["+a", "+b"]
        assert followed.proxy.lists == []


async def test_forgotten_history_lists_again_and_reports_what_vanished(
    real_apiserver: RealServer, passage: Passage
) -> None:
    held = asyncio.Event()

    async def cut_off(_: Asked, wire: Wire) -> None:
        """Ends at once; whoever comes back meanwhile finds nobody."""
        wire.reset()

    async def waits(asked: Asked, wire: Wire) -> None:
        await held.wait()
        await passage.forward(asked, wire)

    async with following(real_apiserver, in_turn(passage, cut_off, waits)) as followed:
        async with asyncio.timeout(30):
            await followed.proxy.until_watches(2)
        old = followed.proxy.watches[1].version
        await followed.direct.delete(CONFIG_MAPS, "a", namespace=followed.namespace)
        b = await followed.make("b")
        now = (await followed.direct.list(CONFIG_MAPS)).resource_version
        await asyncio.to_thread(real_apiserver.forget_history, int(now))
        held.set()
        await followed.arrived(b)
        assert followed.told == ["+a", "-a", "+b"]
        assert len(followed.proxy.lists) == 2
        assert int(old) < int(b.metadata.resource_version)


async def test_a_line_of_a_megabyte_and_separators_inside_it(
    real_apiserver: RealServer, passage: Passage
) -> None:
    text = "one\u0085two\u2028three\u2029four\x0b\x0c\r\n"
    async with following(real_apiserver, in_turn(passage)) as followed:
        big = await followed.make("big", odd=text, long="\u0085x" * 300_000)
        await followed.arrived(big)
        stored = followed.informer.store.get(big.key)
        assert stored is not None
        assert stored.data is not None
        assert (stored.data["odd"], len(stored.data["long"])) == (text, 600_000)
        assert len(followed.proxy.watches) == 1


async def test_a_reset_inside_a_line_loses_and_repeats_nothing(
    real_apiserver: RealServer, passage: Passage
) -> None:
    async def cut(asked: Asked, wire: Wire) -> None:
        await passage.forward(asked, wire, cut_inside=b'"marked"')

    async with following(real_apiserver, in_turn(passage, cut)) as followed:
        await followed.arrived(await followed.make("b"))
        await followed.make("c", k="marked")
        await followed.arrived(await followed.make("d"))
        assert followed.told == ["+a", "+b", "+c", "+d"]
        assert len(followed.proxy.watches) == 2
        assert len(followed.proxy.lists) == 1


async def test_a_page_that_breaks_off_is_asked_for_again(
    real_apiserver: RealServer, passage: Passage
) -> None:
    broken = False

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal broken
        if not asked.watches and not broken:
            broken = True
            await passage.forward(asked, wire, cut_inside=b'"items"')
        else:
            await passage.forward(asked, wire)

    async with following(real_apiserver, answer) as followed:
        assert followed.told == ["+a"]
        assert len(followed.proxy.lists) == 2


async def test_errors_of_the_server_cost_no_list(real_apiserver: RealServer, passage: Passage) -> None:
    async def broken(_: Asked, wire: Wire) -> None:
        await wire.status(500, "InternalError", "etcdserver: no leader")

    async with following(real_apiserver, in_turn(passage, broken, broken, broken)) as followed:
        await followed.arrived(await followed.make("b"))
        assert followed.told == ["+a", "+b"]
        assert (len(followed.proxy.watches), len(followed.proxy.lists)) == (4, 1)


async def test_half_a_second_of_429_delays_reads_and_writes_and_fails_none(
    real_apiserver: RealServer, passage: Passage
) -> None:
    loop = asyncio.get_running_loop()
    end = 0.0
    refused: list[str] = []

    async def answer(asked: Asked, wire: Wire) -> None:
        if loop.time() < end:
            refused.append(asked.method)
            await wire.status(
                429, "TooManyRequests", "too many requests, please try again later", Retry_After="1"
            )
        else:
            await passage.forward(asked, wire)

    async with following(real_apiserver, answer) as followed:
        end = loop.time() + 0.5
        made, listing = await asyncio.gather(
            followed.through.create(CONFIG_MAPS, {"metadata": {"name": "b"}}, namespace=followed.namespace),
            followed.through.list(CONFIG_MAPS, namespace=followed.namespace),
        )
        assert sorted(refused) == ["GET", "POST"]
        assert loop.time() - end >= 0.5
        assert "a" in [obj.name for obj in listing.items]
        await followed.arrived(made)


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_a_restarted_server_is_found_again(real_apiserver: RealServer, kill: bool) -> None:
    """Without a proxy. Its cache starts anew, so the client may have to list once more; it misses nothing."""
    async with Client(load(real_apiserver.kubeconfig)) as direct:
        namespace = f"faults-{next(_numbers)}"
        await direct.create(NAMESPACES, {"metadata": {"name": namespace}})
        await direct.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace=namespace)
        informer = Informer(direct, CONFIG_MAPS, namespace=namespace)
        journal = Journal()
        informer.add_handler(journal)
        task = asyncio.create_task(informer.run())
        try:
            await informer.synced()
            await asyncio.to_thread(real_apiserver.stop_apiserver, kill=kill)
            restarting = asyncio.create_task(asyncio.to_thread(real_apiserver.start_apiserver))
            # A read that is on its way while nobody listens is repeated until somebody does.
            await restarting
            await direct.delete(CONFIG_MAPS, "a", namespace=namespace)
            made = await direct.create(CONFIG_MAPS, {"metadata": {"name": "b"}}, namespace=namespace)
            async with asyncio.timeout(60):
                await journal.until(f"+{made.key}@{made.metadata.resource_version}")
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert [line.partition("@")[0] for line in journal.lines] == [
            f"+{namespace}/a",
            f"-{namespace}/a",
            f"+{namespace}/b",
        ]


# -- certificates


def _cluster(server: RealServer, folder: Path) -> Cluster:
    """A client whose certificate is in files that may be replaced."""
    return Cluster(
        server=server.url,
        ca=Material(data=server.authority.certificate_pem),
        user=User(
            certificate=Material(file=str(folder / "client.crt")),
            key=Material(file=str(folder / "client.key")),
        ),
    )


def _write(folder: Path, pair: Pair) -> None:
    files.write(folder / "client.key", pair.key)
    files.write(folder / "client.crt", pair.certificate)


async def test_a_renewed_client_certificate_is_taken_up(real_apiserver: RealServer, tmp_path: Path) -> None:
    """The server refuses the one that has expired; the renewed one works without a restart of anything."""
    now = datetime.now(UTC)
    expired = real_apiserver.authority.client(ADMIN, [MASTERS], now, timedelta(minutes=-5))
    _write(tmp_path, expired)
    async with Client(_cluster(real_apiserver, tmp_path)) as client:
        with pytest.raises(Unauthorized):
            await client.list(NAMESPACES)
        informer = Informer(client, NAMESPACES)
        task = asyncio.create_task(informer.run())
        try:
            _write(tmp_path, real_apiserver.authority.client(ADMIN, [MASTERS], now))
            async with asyncio.timeout(30):
                await informer.synced()
            assert "default" in informer.store
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_a_certificate_renewed_under_a_watch_leaves_the_watch_alone(
    real_apiserver: RealServer, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    _write(tmp_path, real_apiserver.authority.client(ADMIN, [MASTERS], now))
    async with Client(_cluster(real_apiserver, tmp_path)) as client:
        name = f"faults-{next(_numbers)}"
        listing = await client.list(NAMESPACES)
        events = client.watch(
            NAMESPACES, resource_version=listing.resource_version, field_selector=f"metadata.name={name}"
        )
        async with contextlib.aclosing(events):
            first = asyncio.ensure_future(anext(events))
            _write(tmp_path, real_apiserver.authority.client("mco:other", [MASTERS], now))
            await client.create(NAMESPACES, {"metadata": {"name": name}})
            async with asyncio.timeout(30):
                assert (await first).object.name == name


async def test_a_renewed_serving_certificate_of_the_same_authority_is_trusted(
    real_apiserver: RealServer,
) -> None:
    before = await asyncio.to_thread(_serial, real_apiserver)
    async with Client(load(real_apiserver.kubeconfig)) as client:
        await client.list(NAMESPACES)
        real_apiserver.renew_certificate()
        await asyncio.to_thread(real_apiserver.stop_apiserver)
        await asyncio.to_thread(real_apiserver.start_apiserver)
        assert "default" in [each.name for each in (await client.list(NAMESPACES)).items]
    assert await asyncio.to_thread(_serial, real_apiserver) != before


def _serial(server: RealServer) -> Any:
    return ssl.get_server_certificate(("127.0.0.1", server.port))


# -- tokens


async def _token(client: Client, account: str) -> bytes:
    """Of a service account that is made for it."""
    namespace = {"namespace": "default"}
    path = "/api/v1/namespaces/default/serviceaccounts"
    await client.request("POST", path, body={"metadata": {"name": account, **namespace}})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    raw = await client.request("POST", f"{path}/{account}/token", body=body)
    return str(msgspec.json.decode(raw)["status"]["token"]).encode()


async def _who(client: Client) -> str:
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    raw = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=kind)
    return str(msgspec.json.decode(raw)["status"]["userInfo"]["username"]).rpartition(":")[2]


async def test_a_token_that_is_rotated_as_a_kubelet_does_it(
    real_apiserver: RealServer, tmp_path: Path
) -> None:
    """A link moves to another folder. The next request is made with the token that is there now; one that the
    server refuses is not stayed with."""
    accounts = [f"rotated-{next(_numbers)}" for _ in range(2)]
    async with Client(load(real_apiserver.kubeconfig)) as admin:
        tokens = [await _token(admin, account) for account in accounts]

    def rotate(number: int, token: bytes) -> None:
        folder = tmp_path / f"..{number}"
        folder.mkdir()
        (folder / "token").write_bytes(token)
        (tmp_path / "next").symlink_to(folder)
        (tmp_path / "next").replace(tmp_path / "..data")

    rotate(0, tokens[0])
    (tmp_path / "token").symlink_to("..data/token")
    cluster = Cluster(
        server=real_apiserver.url,
        ca=Material(data=real_apiserver.authority.certificate_pem),
        user=User(token=Material(file=str(tmp_path / "token"))),
    )
    async with Client(cluster) as client:
        assert await _who(client) == accounts[0]
        rotate(1, b"not-a-token")
        with pytest.raises(Unauthorized):
            await _who(client)
        rotate(2, tokens[1])
        assert await _who(client) == accounts[1]
