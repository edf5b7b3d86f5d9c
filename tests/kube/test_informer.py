"""What an informer offers its readers; what it survives is in test_watch_faults."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from mco.api.core import Node
from mco.api.meta.objects import ObjectMeta
from mco.api.resources import NODES
from mco.kube.client import Client
from mco.kube.informer import Informer, Start
from tests.kube.scripted import (
    Answer,
    Asked,
    Journal,
    ScriptedServer,
    Wire,
    hold,
    in_virtual_time,
    node,
    node_list,
    scripted,
)


@contextlib.asynccontextmanager
async def informing(answer: Answer, **options: Any) -> AsyncIterator[tuple[ScriptedServer, Informer[Node]]]:
    async with scripted(answer) as server, Client(server.cluster) as client:
        informer: Informer[Node] = Informer(client, NODES, **options)
        task = asyncio.create_task(informer.run())
        try:
            yield server, informer
        finally:
            task.cancel()
            await asyncio.wait([task])


async def two_nodes(asked: Asked, wire: Wire) -> None:
    if asked.watches:
        await wire.start_stream()
        await wire.event("MODIFIED", node("a", 11, zone="north"))
        await wire.event("DELETED", node("b", 12, zone="north"))
        await wire.event("ADDED", node("c", 13, zone="south"))
        await hold()
    await wire.json(node_list(10, node("a", 1, zone="south"), node("b", 2, zone="north")))


def zone(obj: Node) -> list[str]:
    return [obj.metadata.label("zone") or ""]


@in_virtual_time
async def test_indexes_follow_every_change() -> None:
    async with informing(two_nodes, indexers={"zone": zone}) as (_, informer):
        journal = Journal()
        informer.add_handler(journal)
        await journal.until("+c@13")
        assert [obj.name for obj in informer.store.index("zone", "north")] == ["a"]
        assert [obj.name for obj in informer.store.index("zone", "south")] == ["c"]


@in_virtual_time
async def test_a_transform_decides_what_is_kept() -> None:
    def name_only(obj: Node) -> Node:
        meta = ObjectMeta(name=obj.name, resource_version=obj.metadata.resource_version)
        return Node(api_version=obj.api_version, kind=obj.kind, metadata=meta)

    async with informing(two_nodes, transform=name_only) as (_, informer):
        journal = Journal()
        informer.add_handler(journal)
        await journal.until("+c@13")
        assert {obj.metadata.labels for obj in informer.store.values()} == {None}


@in_virtual_time
async def test_synced_waits_for_all_pages() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.watches:
            await wire.start_stream()
            await hold()
        if "continue" in asked.params:
            await asyncio.sleep(5)
            await wire.json(node_list(10, node("b", 2)))
        else:
            await wire.json(node_list(10, node("a", 1), token="next"))

    async with informing(answer) as (_, informer):
        assert not informer.has_synced
        await informer.synced()
        assert set(informer.store) == {"a", "b"}
        assert asyncio.get_running_loop().time() == pytest.approx(5)


@in_virtual_time
async def test_a_late_handler_hears_of_everything_that_is_there() -> None:
    async with informing(two_nodes) as (_, informer):
        early = Journal()
        informer.add_handler(early)
        await early.until("+c@13")
        late = Journal()
        informer.add_handler(late)
        assert sorted(late.lines) == ["+a@11", "+c@13"]


@in_virtual_time
async def test_a_handler_sees_the_store_as_it_is_after_the_change() -> None:
    seen: list[tuple[str, bool]] = []
    done = asyncio.Event()

    async with informing(two_nodes) as (_, informer):

        def handler(old: Node | None, new: Node | None) -> None:
            key = (new or old or Node()).name
            seen.append((key, informer.store.get(key) is new))
            if key == "c":
                done.set()

        informer.add_handler(handler)
        await done.wait()
    assert seen == [("a", True), ("b", True), ("a", True), ("b", True), ("c", True)]


@in_virtual_time
async def test_a_handler_that_fails_stops_neither_the_cache_nor_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: Node | None, __: Node | None) -> None:
        raise KeyError("a bug")

    async with informing(two_nodes) as (_, informer):
        journal = Journal()
        informer.add_handler(broken)
        informer.add_handler(journal)
        await journal.until("+c@13")
    assert "handler failed" in caplog.text


def test_a_rejected_object_is_kept_as_it_was_through_a_new_list() -> None:
    """Otherwise one odd field would look like a deletion."""

    @in_virtual_time
    async def test() -> None:
        odd = {"metadata": {"name": "a", "resourceVersion": "20"}, "spec": {"unschedulable": 3}}
        lists = [node_list(10, node("a", 1)), node_list(30, odd, node("b", 25))]

        async def answer(asked: Asked, wire: Wire) -> None:
            if not asked.watches:
                await wire.json(lists.pop(0))
            elif len(lists) == 1:
                await wire.status(410, "Expired", "too old")
            else:
                await wire.start_stream()
                await hold()

        async with informing(answer) as (_, informer):
            journal = Journal()
            informer.add_handler(journal)
            await journal.until("+b@25")
            assert journal.lines == ["+a@1", "+b@25"]

    test()


def initial_events_end(version: int) -> dict[str, Any]:
    return {
        "metadata": {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    }


@in_virtual_time
async def test_streamed_initial_objects_end_at_their_own_bookmark_only() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        await wire.start_stream()
        if asked.params.get("sendInitialEvents") == "true":
            await wire.event("ADDED", node("a", 1))
            await wire.event("BOOKMARK", {"metadata": {"resourceVersion": "2"}})
            await asyncio.sleep(1)
            await wire.event("ADDED", node("b", 3))
            await wire.event("BOOKMARK", initial_events_end(10))
            await wire.end_stream()
        else:
            await hold()

    async with informing(answer, start=Start.STREAM) as (server, informer):
        await informer.synced()
        assert set(informer.store) == {"a", "b"}
        await server.until_watches(2)
        assert server.watches[1].version == "10"
        assert server.lists == []


async def _refuses(_: Asked, wire: Wire) -> None:
    await wire.status(422, "Invalid", "sendInitialEvents is forbidden for watch")


async def _never_ends(_: Asked, wire: Wire) -> None:
    await wire.start_stream()
    await wire.event("ADDED", node("a", 1))
    await hold()


@pytest.mark.parametrize("old_server", [_refuses, _never_ends])
def test_a_server_that_cannot_stream_is_listed(old_server: Answer) -> None:
    @in_virtual_time
    async def test() -> None:
        async def answer(asked: Asked, wire: Wire) -> None:
            if "sendInitialEvents" in asked.params:
                await old_server(asked, wire)
            elif asked.watches:
                await wire.start_stream()
                await hold()
            else:
                await wire.json(node_list(10, node("a", 1), node("b", 2)))

        async with informing(answer, start=Start.STREAM) as (server, informer):
            await informer.synced()
            assert set(informer.store) == {"a", "b"}
            assert len(server.lists) == 1

    test()


@in_virtual_time
async def test_watches_of_many_informers_do_not_all_end_together() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if not asked.watches:
            await wire.json(node_list(10))
            return
        await wire.start_stream()
        await asyncio.sleep(int(asked.params["timeoutSeconds"]))
        await wire.end_stream()

    async with informing(answer) as (server, _):
        await server.until_watches(12)
        seconds = [int(asked.params["timeoutSeconds"]) for asked in server.watches]
        assert all(300 <= value <= 600 for value in seconds)
        assert len(set(seconds)) > 3
        assert len(server.lists) == 1


@in_virtual_time
async def test_the_selection_holds_for_list_and_watch() -> None:
    options = {"label_selector": "a=b", "field_selector": "metadata.name=x"}
    async with informing(two_nodes, **options) as (server, _):
        await server.until_watches(1)
        for asked in server.asked:
            assert (asked.params["labelSelector"], asked.params["fieldSelector"]) == (
                "a=b",
                "metadata.name=x",
            )


def test_objects_from_a_cache_can_be_shared_because_they_cannot_be_changed() -> None:
    obj = Node(metadata=ObjectMeta(name="a"))
    with pytest.raises(AttributeError):
        obj.metadata = ObjectMeta()  # type: ignore[misc]
    assert msgspec.structs.replace(obj, kind="Node").metadata is obj.metadata
