"""The client against a scripted server: what it repeats, what it must not repeat, and how it pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from mco.api.resources import LEASES, NODES
from mco.base.errors import Unavailable
from mco.kube.client import Client
from mco.kube.config import Cluster, Material, User
from mco.kube.errors import (
    ConflictError,
    DecodeError,
    Expired,
    NotFoundError,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from mco.kube.requests import PatchKind
from tests.kube.scripted import (
    Answer,
    Asked,
    ScriptedServer,
    Wire,
    hold,
    in_virtual_time,
    node,
    node_list,
    scripted,
)


@contextlib.asynccontextmanager
async def talking(answer: Answer) -> AsyncIterator[tuple[ScriptedServer, Client]]:
    async with scripted(answer) as server, Client(server.cluster) as client:
        yield server, client


def times(count: int, first: Answer, then: Answer) -> Answer:
    """`first` for `count` requests, `then` for all others."""
    left = count

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal left
        left -= 1
        await (first if left >= 0 else then)(asked, wire)

    return answer


async def one_node(_: Asked, wire: Wire) -> None:
    await wire.json(node("w1", 7))


async def reset(_: Asked, wire: Wire) -> None:
    wire.reset()


async def busy(_: Asked, wire: Wire) -> None:
    await wire.status(429, "TooManyRequests", "busy", Retry_After="2")


async def unavailable(_: Asked, wire: Wire) -> None:
    await wire.status(503, "ServiceUnavailable", "starting")


@in_virtual_time
async def test_a_read_survives_broken_connections() -> None:
    async with talking(times(4, reset, one_node)) as (server, client):
        assert (await client.get(NODES, "w1")).metadata.resource_version == "7"
        assert len(server.asked) == 5


@in_virtual_time
async def test_a_read_gives_up_in_the_end_and_says_what_it_wanted() -> None:
    async with talking(reset) as (server, client):
        with pytest.raises(Unreachable) as caught:
            await client.get(NODES, "w1")
        assert len(server.asked) == 5
        assert caught.value.subject == "Node/w1"
        assert str(caught.value).startswith("GET /api/v1/nodes/w1 got no answer: ")


@in_virtual_time
async def test_a_write_that_got_no_answer_is_not_repeated() -> None:
    """It may have happened."""
    async with talking(reset) as (server, client):
        for write in (
            client.create(NODES, {"metadata": {"name": "w1"}}),
            client.patch(NODES, "w1", {"spec": {}}),
            client.update(NODES, "w1", {"metadata": {"name": "w1"}}),
            client.delete(NODES, "w1"),
        ):
            with pytest.raises(Unreachable):
                await write
        assert [asked.method for asked in server.asked] == ["POST", "PATCH", "PUT", "DELETE"]


@in_virtual_time
async def test_a_refusal_that_says_when_is_repeated_then_for_writes_too() -> None:
    async with talking(times(3, busy, one_node)) as (server, client):
        await client.patch(NODES, "w1", {"spec": {"unschedulable": True}})
        assert len(server.asked) == 4
        assert 6 <= asyncio.get_running_loop().time() < 7


@in_virtual_time
async def test_the_patience_with_a_busy_server_is_bounded() -> None:
    async with talking(busy) as (_, client):
        with pytest.raises(TooManyRequests):
            await client.get(NODES, "w1")
        assert 55 < asyncio.get_running_loop().time() <= 60


@in_virtual_time
async def test_a_refusal_that_does_not_say_when_is_the_callers_business() -> None:
    async with talking(unavailable) as (server, client):
        with pytest.raises(ServerError, match="starting"):
            await client.get(NODES, "w1")
        assert len(server.asked) == 1


@in_virtual_time
async def test_nothing_listens() -> None:
    async with talking(one_node) as (server, client):
        await server.stop()
        with pytest.raises(Unreachable, match=rf"Connection refused \(127\.0\.0\.1:{server.port}\)$"):
            await client.get(NODES, "w1")
        await server.start()
        assert (await client.get(NODES, "w1")).name == "w1"


@in_virtual_time
async def test_nobody_answers() -> None:
    """For longer than the client is patient, so that it is not asked again."""
    async with talking(lambda *_: hold()) as (server, client):
        with pytest.raises(Unreachable, match=r"nodes/w1 got no answer: timed out$"):
            await client.get(NODES, "w1")
        assert len(server.asked) == 1


@in_virtual_time
async def test_a_guarded_client_writes_nothing_once_its_guard_objects() -> None:
    leads = True

    def guard() -> None:
        if not leads:
            raise Unavailable("the lease is lost")

    async def loses(_: Asked, wire: Wire) -> None:
        nonlocal leads
        leads = False
        await wire.status(429, "TooManyRequests", "busy", Retry_After="1")

    async with talking(loses) as (server, client):
        guarded = client.guarded(guard)
        with pytest.raises(Unavailable, match="lease is lost"):
            await guarded.patch(NODES, "w1", {})
        # Refused once while it led; the repetition was stopped.
        assert [asked.method for asked in server.asked] == ["PATCH"]
        server.answer = one_node
        assert (await guarded.get(NODES, "w1")).name == "w1"
        await client.patch(NODES, "w1", {})


@in_virtual_time
async def test_pages_are_joined_and_keep_their_selection() -> None:
    pages = {
        "": node_list(9, node("a", 1), node("b", 2), token="t1"),
        "t1": node_list(9, node("c", 3), token="t2"),
        "t2": node_list(9, node("d", 4)),
    }

    async def answer(asked: Asked, wire: Wire) -> None:
        await wire.json(pages[asked.params.get("continue", "")])

    async with talking(answer) as (server, client):
        listing = await client.list(NODES, label_selector="x in (y,z)", limit=2)
        assert [item.name for item in listing.items] == ["a", "b", "c", "d"]
        assert listing.resource_version == "9"
        assert {asked.params["labelSelector"] for asked in server.asked} == {"x in (y,z)"}
        assert {asked.params["limit"] for asked in server.asked} == {"2"}


@in_virtual_time
async def test_a_token_that_expires_between_pages_costs_one_whole_list() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if "continue" in asked.params:
            await wire.status(410, "Expired", "The provided continue parameter is too old")
        elif "limit" in asked.params:
            await wire.json(node_list(9, node("a", 1), node("gone", 2), token="t1"))
        else:
            await wire.json(node_list(12, node("a", 1), node("b", 11)))

    async with talking(answer) as (server, client):
        listing = await client.list(NODES)
        assert ([item.name for item in listing.items], listing.resource_version) == (["a", "b"], "12")
        assert [asked.params for asked in server.asked] == [
            {"limit": "500"},
            {"limit": "500", "continue": "t1"},
            {},
        ]


@in_virtual_time
async def test_an_expired_first_page_is_an_error() -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.status(410, "Expired", "too old")

    async with talking(answer) as (server, client):
        with pytest.raises(Expired):
            await client.list(NODES)
        assert len(server.asked) == 1


@in_virtual_time
async def test_every_kind_of_write_says_what_it_is() -> None:
    async def lease(_: Asked, wire: Wire) -> None:
        await wire.json({"metadata": {"name": "w1"}})

    async with talking(lease) as (server, client):
        space = "kube-node-lease"
        await client.patch(LEASES, "w1", {"spec": {}}, namespace=space)
        test = [{"op": "test", "path": "/spec/holderIdentity", "value": "w1"}]
        await client.patch(LEASES, "w1", test, namespace=space, kind=PatchKind.JSON)
        await client.update(LEASES, "w1", {"spec": {}}, namespace=space)
        await client.delete(LEASES, "w1", namespace=space, resource_version="7", propagation="Orphan")
        assert [asked.headers["content-type"] for asked in server.asked] == [
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/json",
            "application/json",
        ]
        assert server.asked[1].json() == test
        assert server.asked[2].json() == {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}}
        assert server.asked[3].json()["preconditions"] == {"resourceVersion": "7"}


@pytest.mark.parametrize(("code", "kind"), [(404, NotFoundError), (409, ConflictError)])
def test_a_refusal_is_raised_with_its_object(code: int, kind: type[Exception]) -> None:
    @in_virtual_time
    async def test() -> None:
        async def answer(_: Asked, wire: Wire) -> None:
            await wire.status(code, "", "no")

        async with talking(answer) as (_, client):
            with pytest.raises(kind) as caught:
                await client.patch(NODES, "w1", {})
            assert getattr(caught.value, "subject", "") == "Node/w1"

    test()


@in_virtual_time
async def test_a_redirect_is_not_followed_with_our_credentials() -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.json({}, 302, Location="http://127.0.0.1:1/elsewhere")

    async with talking(answer) as (server, client):
        with pytest.raises(ServerError):
            await client.get(NODES, "w1")
        assert len(server.asked) == 1


@in_virtual_time
async def test_an_answer_of_another_shape_names_object_and_path() -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.json({"metadata": {"name": "w1"}, "spec": {"taints": [5]}})

    async with talking(answer) as (_, client):
        with pytest.raises(DecodeError) as caught:
            await client.get(NODES, "w1")
        assert (caught.value.subject, caught.value.path) == ("Node/w1", "$.spec.taints[0]")


@in_virtual_time
async def test_a_watch_that_is_left_early_frees_its_connection() -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.start_stream()
        while True:
            await wire.event("ADDED", node("w1", 8))
            await asyncio.sleep(1)

    async with talking(answer) as (server, client):
        watch = client.watch(NODES, resource_version="7")
        async with aclosing(watch) as events:
            event = await anext(events)
            assert (event.type, event.object.name) == ("ADDED", "w1")
        await server.until_connections(0)


@in_virtual_time
async def test_a_rotated_token_is_read_again_after_one_refusal(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.headers["authorization"] != f"Bearer {valid}":
            await wire.status(401, "Unauthorized", "Unauthorized")
        else:
            await wire.json(node("w1", 7))

    valid = "one"
    async with scripted(answer) as server:
        cluster = _with_token(server.cluster, token)
        async with Client(cluster) as client:
            await client.get(NODES, "w1")
            token.write_text("second\n")
            valid = "second"
            await client.get(NODES, "w1")
            assert len(server.asked) == 2
            valid = "third"
            with pytest.raises(Unauthorized):
                await client.get(NODES, "w1")
            assert len(server.asked) == 4


@in_virtual_time
async def test_a_missing_token_file_is_named_and_waited_for_by_the_caller(tmp_path: Path) -> None:
    async with talking(one_node) as (server, _):
        async with Client(_with_token(server.cluster, tmp_path / "token")) as client:
            with pytest.raises(Unavailable) as caught:
                await client.get(NODES, "w1")
            assert caught.value.path == str(tmp_path / "token")
            (tmp_path / "token").write_text("now")
            await client.get(NODES, "w1")
        assert server.asked[0].headers["authorization"] == "Bearer now"


def _with_token(cluster: Cluster, file: Path) -> Cluster:
    return msgspec.structs.replace(cluster, user=User(token=Material(file=str(file))))
