"""Cluster mode, end to end: the embedded API server, our informers, real sockets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from mco.api import bootstraptokens, names
from mco.api.bootstraptokens import BootstrapToken
from mco.api.resources import (
    CONFIG_MAPS,
    CONTROLLER_CONFIGS,
    EVENTS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    SECRETS,
)
from mco.apiserver.server import Settings, running
from mco.base.errors import Unavailable
from mco.configserver.cluster import Access, Caches, ClusterConfigs
from mco.configserver.marks import ServingMarks
from mco.ignition import dataurl
from mco.runtime.clock import SystemClock, parse_rfc3339
from tests.configserver.clients import Answer, ask
from tests.configserver.installation import CA, KUBELET_CA, URL, Installation, files, ignition, installation
from tests.controllers.fleet import HandClock

NEWEST = "application/vnd.coreos.ignition+json;version=3.5.0"
TOKEN = BootstrapToken(id="abc123", secret="0123456789abcdef", pool="worker", machine="w1")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installation(tmp_path) as made:
        yield made


def content(file: dict[str, Any]) -> bytes:
    return dataurl.decode(file["contents"]["source"])


async def fetch(port: int, pool: str = "worker", **headers: str) -> Answer:
    return await ask(port, "GET", f"/config/{pool}", None, Accept=NEWEST, **headers)


async def config_of(port: int, pool: str = "worker") -> str:
    """The name of the config that is served; the status if none is."""
    answer = await fetch(port, pool)
    if answer.status != 200:
        return str(answer.status)
    annotations = msgspec.json.decode(content(files(answer.body)[names.NODE_ANNOTATIONS_FILE]))
    return str(annotations[names.CURRENT_CONFIG])


async def eventually(value: Any, ask_for: Callable[[], Awaitable[Any]]) -> None:
    """Wait until `ask_for` answers `value`."""
    seen = None
    try:
        async with asyncio.timeout(15):
            while (seen := await ask_for()) != value:
                pass
    except TimeoutError:
        pytest.fail(f"it stayed {seen!r} and never was {value!r}")


@asynccontextmanager
async def followed(caches: Caches) -> AsyncIterator[None]:
    """The caches in sync, kept so by their informers."""
    watching = asyncio.gather(*(follow() for follow in caches.parts().values()))
    try:
        await caches.synced()
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def kubeconfig_of(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(content(files(answer.body)[names.KUBECONFIG_FILE]))
    return found


async def create_token(cluster: Installation, token: BootstrapToken = TOKEN) -> None:
    await cluster.client.create(
        SECRETS, bootstraptokens.to_secret(token), namespace=bootstraptokens.NAMESPACE
    )


async def test_a_rendered_config_is_served_with_what_makes_a_node(cluster: Installation) -> None:
    async with cluster.config_server() as ports:
        answer = await fetch(ports.insecure)
    assert answer.status == 200
    served = files(answer.body)
    assert content(served["/etc/motd"]) == b"rendered-worker-1"
    assert content(served[names.KUBELET_CA_FILE]) == KUBELET_CA
    assert names.ENCAPSULATED_FILE in served
    kubeconfig = kubeconfig_of(answer)
    entry = kubeconfig["clusters"][0]["cluster"]
    assert entry == {"server": URL, "certificate-authority-data": base64.b64encode(CA).decode()}
    assert kubeconfig["users"] == [{"name": "kubelet", "user": {"token": "shared-token.of.the-folder"}}]


@pytest.mark.parametrize(("updated", "served"), [(0, "rendered-worker-1"), (1, "rendered-worker-2")])
async def test_new_machines_get_the_newest_config_once_a_machine_runs_it(
    cluster: Installation, updated: int, served: str
) -> None:
    await cluster.machine_config("rendered-worker-2")
    await cluster.pool("worker", "rendered-worker-1", "rendered-worker-2", updated)
    async with cluster.config_server() as ports:
        assert await config_of(ports.insecure) == served


async def test_a_new_config_takes_the_place_of_the_old_one(cluster: Installation) -> None:
    async with cluster.config_server() as ports:
        assert await config_of(ports.insecure) == "rendered-worker-1"
        await cluster.machine_config("rendered-worker-2")
        await cluster.pool("worker", "rendered-worker-2")
        await eventually("rendered-worker-2", lambda: config_of(ports.insecure))


async def test_pools_come_and_go(cluster: Installation) -> None:
    async with cluster.config_server() as ports:
        assert await config_of(ports.insecure, "edge") == "404"
        await cluster.machine_config("rendered-edge-1")
        await cluster.pool("edge", "rendered-edge-1")
        await eventually("rendered-edge-1", lambda: config_of(ports.insecure, "edge"))
        await cluster.client.delete(MACHINE_CONFIG_POOLS, "edge")
        await eventually("404", lambda: config_of(ports.insecure, "edge"))
        assert await config_of(ports.insecure) == "rendered-worker-1"


async def test_a_pool_whose_config_is_missing_is_served_when_it_appears(cluster: Installation) -> None:
    await cluster.pool("edge", "rendered-edge-1")
    async with cluster.config_server() as ports:
        answer = await fetch(ports.insecure, "edge")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        await cluster.machine_config("rendered-edge-1")
        await eventually("rendered-edge-1", lambda: config_of(ports.insecure, "edge"))


async def test_a_pool_that_is_not_rendered_yet_is_waited_for_and_no_unknown_pool(
    cluster: Installation,
) -> None:
    await cluster.pool("edge", "")
    async with cluster.config_server() as ports:
        answer = await fetch(ports.insecure, "edge")
        assert (answer.status, answer.headers["content-length"]) == (503, "0")


async def test_without_a_controller_config_nothing_is_served_until_it_is_there(cluster: Installation) -> None:
    await cluster.client.delete(CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG)
    async with cluster.config_server() as ports:
        assert await config_of(ports.insecure) == "503"
        body = {"metadata": {"name": names.CONTROLLER_CONFIG}, "spec": {}}
        await cluster.client.create(CONTROLLER_CONFIGS, body)
        await eventually("rendered-worker-1", lambda: config_of(ports.insecure))


@pytest.mark.parametrize("lost", ["missing", "broken"])
async def test_the_last_good_config_is_served_while_the_new_one_cannot_be(
    cluster: Installation, lost: str
) -> None:
    async with cluster.config_server() as ports:
        if lost == "broken":
            await cluster.machine_config("rendered-worker-2", {"ignition": {"version": "9.0.0"}})
        await cluster.pool("worker", "rendered-worker-2")
        # A second pool is refreshed after the first: when it is there, the first was tried.
        await cluster.pool("edge", "rendered-worker-1")
        await eventually("rendered-worker-1", lambda: config_of(ports.insecure, "edge"))
        assert await config_of(ports.insecure) == "rendered-worker-1"
        if lost == "broken":
            change = {"spec": {"config": ignition("/etc/motd", "repaired")}}
            await cluster.client.patch(MACHINE_CONFIGS, "rendered-worker-2", change)
        else:
            await cluster.machine_config("rendered-worker-2")
        await eventually("rendered-worker-2", lambda: config_of(ports.insecure))


@pytest.mark.parametrize("updated", [0, 1])
async def test_a_server_that_starts_while_the_config_is_missing_serves_the_pools_other_one(
    cluster: Installation, updated: int
) -> None:
    """Until the one that new machines should get is back."""
    await cluster.machine_config("rendered-worker-2")
    await cluster.pool("worker", "rendered-worker-1", "rendered-worker-2", updated)
    best = "rendered-worker-2" if updated else "rendered-worker-1"
    other = "rendered-worker-1" if updated else "rendered-worker-2"
    await cluster.client.delete(MACHINE_CONFIGS, best)
    async with cluster.config_server() as ports:
        assert await config_of(ports.insecure) == other
        await cluster.machine_config(best)
        await eventually(best, lambda: config_of(ports.insecure))


async def test_authorities_follow_their_objects(cluster: Installation) -> None:
    async def authorities(port: int) -> tuple[bytes, bytes]:
        answer = await fetch(port)
        api = kubeconfig_of(answer)["clusters"][0]["cluster"]["certificate-authority-data"]
        return base64.b64decode(api), content(files(answer.body)[names.KUBELET_CA_FILE])

    async with cluster.config_server() as ports:
        assert await authorities(ports.insecure) == (CA, KUBELET_CA)
        data = {"binaryData": {"ca-bundle.crt": base64.b64encode(b"new").decode()}}
        await cluster.client.patch(CONFIG_MAPS, "kubeconfig-data", data, namespace=names.NAMESPACE)
        await eventually((b"new", KUBELET_CA), lambda: authorities(ports.insecure))
        spec = {"kubeAPIServerServingCAData": base64.b64encode(b"newer").decode()}
        await cluster.client.patch(CONTROLLER_CONFIGS, names.CONTROLLER_CONFIG, {"spec": spec})
        await eventually((b"new", b"newer"), lambda: authorities(ports.insecure))


async def test_the_apis_authorities_come_from_the_token_folder_without_the_config_map(
    cluster: Installation,
) -> None:
    await cluster.client.delete(CONFIG_MAPS, "kubeconfig-data", namespace=names.NAMESPACE)
    (cluster.tokens / "ca.crt").write_bytes(b"from the folder")
    async with cluster.config_server() as ports:
        entry = kubeconfig_of(await fetch(ports.insecure))["clusters"][0]["cluster"]
    assert base64.b64decode(entry["certificate-authority-data"]) == b"from the folder"


async def test_the_shared_token_is_read_again_when_it_is_rotated(cluster: Installation) -> None:
    async with cluster.config_server() as ports:
        (cluster.tokens / "next").write_text("rotated-token")
        (cluster.tokens / "next").replace(cluster.tokens / "token")
        users = kubeconfig_of(await fetch(ports.insecure))["users"]
        assert users[0]["user"]["token"] == "rotated-token"
        (cluster.tokens / "token").unlink()
        assert (await fetch(ports.insecure)).status == 500


async def test_what_is_served_is_marked_before_anybody_can_ask(cluster: Installation) -> None:
    async with cluster.config_server() as ports:
        marks = await cluster.client.get(CONFIG_MAPS, names.SERVED_MAP, namespace=names.NAMESPACE)
        first = dict(marks.data or {})
        assert abs(datetime.now(UTC) - parse_rfc3339(first["rendered-worker-1"])) < timedelta(minutes=5)
        for _ in range(20):
            assert await config_of(ports.insecure) == "rendered-worker-1"
        again = await cluster.client.get(CONFIG_MAPS, names.SERVED_MAP, namespace=names.NAMESPACE)
        assert again.metadata.resource_version == marks.metadata.resource_version
        await cluster.machine_config("rendered-worker-2")
        await cluster.pool("worker", "rendered-worker-2")
        await eventually("rendered-worker-2", lambda: config_of(ports.insecure))
        later = await cluster.client.get(CONFIG_MAPS, names.SERVED_MAP, namespace=names.NAMESPACE)
        assert set(later.data or {}) == {"rendered-worker-1", "rendered-worker-2"}


async def test_what_cannot_be_marked_is_not_served(cluster: Installation) -> None:
    def refuse() -> None:
        raise Unavailable("nothing is written today")

    caches = Caches(cluster.client)
    (cluster.tokens / "ca.crt").write_bytes(CA)
    marks = ServingMarks(cluster.client.guarded(refuse), SystemClock())
    access = Access(server=URL, token_folder=cluster.tokens)
    configs = ClusterConfigs(cluster.client, caches, access, marks)
    async with followed(caches):
        with pytest.raises(Unavailable, match="nothing is written today"):
            await configs.refresh("worker")
        assert configs.ready("worker", "3.5.0") is None
        assert configs.configs == set()


async def test_marks_are_renewed_as_long_as_a_config_is_served(cluster: Installation) -> None:
    clock = HandClock()
    marks = ServingMarks(cluster.client, clock)
    await marks.mark(["rendered-worker-1", "gone"])

    async def ages() -> dict[str, str]:
        found = await cluster.client.get(CONFIG_MAPS, names.SERVED_MAP, namespace=names.NAMESPACE)
        return found.data or {}

    before = await ages()
    keeping = asyncio.create_task(marks.keep(lambda: ["rendered-worker-1"]))
    async with asyncio.timeout(30):
        while (after := await ages())["rendered-worker-1"] == before["rendered-worker-1"]:
            pass
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert after["gone"] == before["gone"]


async def test_requests_cost_no_preparation(cluster: Installation) -> None:
    caches = Caches(cluster.client)
    (cluster.tokens / "ca.crt").write_bytes(CA)
    configs = ClusterConfigs(
        cluster.client,
        caches,
        Access(server=URL, token_folder=cluster.tokens),
        ServingMarks(cluster.client, SystemClock()),
    )
    async with followed(caches):
        await configs.warm()
        assert configs.preparations == 1
        first = configs.ready("worker", "3.5.0")
        assert first is not None
        for _ in range(100):
            assert configs.ready("worker", "3.5.0") is first
        older = await asyncio.gather(*(configs.prepare("worker", "3.3.0") for _ in range(20)))
        assert all(answer is older[0] for answer in older)
        assert configs.ready("worker", "3.3.0") is older[0]
        assert configs.preparations == 2
        await configs.refresh("worker")
        assert configs.ready("worker", "3.5.0") is first


async def test_bodies_of_machine_configs_are_not_kept(cluster: Installation) -> None:
    caches = Caches(cluster.client)
    async with followed(caches):
        kept = caches.machine_configs.store.get("rendered-worker-1")
        assert kept is not None
        assert bytes(kept.spec.config) == b""


async def test_without_the_api_the_last_answers_are_served(tmp_path: Path) -> None:
    async with installation(tmp_path) as cluster:
        stack = cluster.config_server()
        ports = await stack.__aenter__()
        assert await config_of(ports.insecure) == "rendered-worker-1"
    try:
        for _ in range(3):
            assert await config_of(ports.insecure) == "rendered-worker-1"
    finally:
        await stack.__aexit__(None, None, None)


async def test_it_listens_only_once_it_knows_what_to_serve(tmp_path: Path) -> None:
    async with installation(tmp_path) as cluster:
        port = int(cluster.cluster.server.rpartition(":")[2])
    # The API is down now.
    starting = cluster.config_server()
    entering = asyncio.create_task(starting.__aenter__())
    done, _ = await asyncio.wait({entering}, timeout=0.5)
    assert not done
    async with running(Settings(data_dir=tmp_path / "api", port=port)):
        ports = await entering
        assert await config_of(ports.insecure) == "rendered-worker-1"
        await starting.__aexit__(None, None, None)


async def test_a_token_is_required_where_it_is_asked_for(cluster: Installation) -> None:
    async with cluster.config_server(require_token=True) as ports:
        answer = await fetch(ports.insecure)
        assert (answer.status, answer.headers["content-length"]) == (401, "0")
        assert answer.headers["www-authenticate"] == "Bearer"

        async def unknown() -> int:
            return (await fetch(ports.insecure, Authorization="Bearer zzz999.0123456789abcdef")).status

        assert await unknown() == 503
        await eventually(401, unknown)
        assert (await ask(ports.insecure, "GET", "/healthz")).status == 200


async def test_a_machine_joins_with_a_token_that_was_made_a_moment_ago(cluster: Installation) -> None:
    async with cluster.config_server(require_token=True) as ports:
        await create_token(cluster)
        seen = set()
        async with asyncio.timeout(15):
            while (answer := await fetch(ports.insecure, Authorization=f"Bearer {TOKEN.text}")).status != 200:
                seen.add(answer.status)
        assert seen <= {503}
        assert kubeconfig_of(answer)["users"] == [{"name": "kubelet", "user": {"token": TOKEN.text}}]
        await cluster.machine_config("rendered-edge-1")
        await cluster.pool("edge", "rendered-edge-1")
        refused = await fetch(ports.insecure, "edge", Authorization=f"Bearer {TOKEN.text}")
        assert (refused.status, refused.body) == (403, b"")


async def test_an_expired_or_deleted_token_is_refused(cluster: Installation) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    await create_token(cluster)
    await create_token(cluster, msgspec.structs.replace(TOKEN, id="old999", expiration=past))
    async with cluster.config_server(require_token=True) as ports:

        async def status() -> int:
            return (await fetch(ports.insecure, Authorization=f"Bearer {TOKEN.text}")).status

        expired = await fetch(ports.insecure, Authorization=f"Bearer old999.{TOKEN.secret}")
        assert expired.status == 401
        assert await status() == 200
        await cluster.client.delete(SECRETS, TOKEN.secret_name, namespace=bootstraptokens.NAMESPACE)
        await eventually(401, status)


async def test_joins_and_refusals_are_events_of_the_pool(cluster: Installation) -> None:
    await create_token(cluster)

    async def events() -> set[tuple[str, str, str]]:
        listing = await cluster.client.list(EVENTS, namespace=names.NAMESPACE)
        return {(event.type, event.reason, event.message) for event in listing.items}

    async with cluster.config_server(require_token=True) as ports:
        for _ in range(3):
            await fetch(ports.insecure, Authorization=f"Bearer {TOKEN.text}")
            await fetch(ports.insecure)
        expected = {
            (
                "Normal",
                "MachineConfigServed",
                "machine w1 was served rendered-worker-1 with join token abc123",
            ),
            (
                "Warning",
                "MachineConfigRefused",
                "a machine at 127.0.0.1 was refused: a join token is required",
            ),
        }
        await eventually(expected, events)
    listing = await cluster.client.list(EVENTS, namespace=names.NAMESPACE)
    assert {event.involved_object.kind for event in listing.items} == {"MachineConfigPool"}
    assert [event.count for event in listing.items] == [1, 1]


async def test_secrets_are_in_no_log_line(cluster: Installation, caplog: pytest.LogCaptureFixture) -> None:
    await create_token(cluster)
    with caplog.at_level("DEBUG", logger="mco"):
        async with cluster.config_server(require_token=True) as ports:
            await fetch(ports.insecure, Authorization=f"Bearer {TOKEN.text}")
            await fetch(ports.insecure, Authorization="Bearer abc123.ffffffffffffffff")
    lines = [str(vars(record)) for record in caplog.records]
    assert any("config served" in line for line in lines)
    assert any("config refused" in line for line in lines)
    assert not [line for line in lines if TOKEN.secret in line or "ffffffffffffffff" in line]
