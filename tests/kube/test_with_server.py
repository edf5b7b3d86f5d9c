"""Client, informer, recorder and lease against the embedded API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from mco.api.core import Node
from mco.api.meta.objects import Object, ObjectReference, OwnerReference
from mco.api.resources import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES, NODES, Resource
from mco.apiserver.server import Settings, running
from mco.kube.client import Client
from mco.kube.config import Cluster, load
from mco.kube.errors import AlreadyExists, ConflictError, Invalid, NotFoundError
from mco.kube.events import NORMAL, WARNING, Recorder
from mco.kube.informer import Informer, Start
from mco.kube.lease import NodeLease
from mco.kube.requests import PatchKind
from mco.runtime.clock import parse_rfc3339
from tests.kube.scripted import Journal

T = TypeVar("T", bound=Object)


@contextlib.asynccontextmanager
async def following(
    client: Client, res: Resource[T], start: Start = Start.LIST
) -> AsyncIterator[Informer[T]]:
    informer = Informer(client, res, start=start)
    task = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        task.cancel()
        await asyncio.wait([task])


async def make_nodes(api: Client, *names: str) -> list[Node]:
    return [await api.create(NODES, {"metadata": {"name": name}}) for name in names]


async def test_an_object_from_creation_to_deletion(api: Client) -> None:
    (made,) = await make_nodes(api, "w1")
    with pytest.raises(AlreadyExists) as caught:
        await make_nodes(api, "w1")
    assert caught.value.subject == "Node/w1"
    changed = await api.patch(NODES, "w1", {"spec": {"unschedulable": True}})
    assert changed.spec.unschedulable
    assert await api.get(NODES, "w1") == changed
    listing = await api.list(NODES)
    assert listing.items == [changed]
    with pytest.raises(ConflictError):
        await api.patch(
            NODES,
            "w1",
            {"metadata": {"resourceVersion": made.metadata.resource_version, "labels": {"a": "b"}}},
        )
    with pytest.raises(ConflictError):
        await api.delete(NODES, "w1", uid="another")
    await api.delete(NODES, "w1", uid=made.metadata.uid)
    with pytest.raises(NotFoundError):
        await api.get(NODES, "w1")


async def test_a_json_patch_changes_nothing_when_its_test_does_not_hold(api: Client) -> None:
    await api.create(NODES, {"metadata": {"name": "w1", "annotations": {"desired": "a"}}})
    step = [
        {"op": "test", "path": "/metadata/annotations/desired", "value": "b"},
        {"op": "replace", "path": "/metadata/annotations/desired", "value": "c"},
    ]
    with pytest.raises(Invalid):
        await api.patch(NODES, "w1", step, kind=PatchKind.JSON)
    assert (await api.get(NODES, "w1")).metadata.annotation("desired") == "a"


async def test_a_list_of_several_pages_is_whole(api: Client) -> None:
    await make_nodes(api, *(f"n{number:02}" for number in range(7)))
    listing = await api.list(NODES, limit=3)
    assert [node.name for node in listing.items] == [f"n{number:02}" for number in range(7)]


async def test_a_watch_goes_on_where_the_list_ended(api: Client) -> None:
    await make_nodes(api, "a")
    listing = await api.list(NODES)
    await make_nodes(api, "b")
    await api.delete(NODES, "a")
    async with contextlib.aclosing(api.watch(NODES, resource_version=listing.resource_version)) as events:
        first, second = await anext(events), await anext(events)
    assert [(e.type, e.object.name) for e in (first, second)] == [("ADDED", "b"), ("DELETED", "a")]


@pytest.mark.parametrize("start", list(Start))
async def test_an_informer_follows(api: Client, start: Start) -> None:
    await make_nodes(api, "a", "b")
    async with following(api, NODES, start) as informer:
        journal = Journal()
        await informer.synced()
        informer.add_handler(journal)
        assert sorted(informer.store) == ["a", "b"]
        assert len(journal.lines) == 2
        (made,) = await make_nodes(api, "c")
        await journal.until(f"+c@{made.metadata.resource_version}")
        changed = await api.patch(NODES, "c", {"metadata": {"labels": {"x": "y"}}})
        await journal.until(f"~c@{changed.metadata.resource_version}")
        await api.delete(NODES, "c")
        await journal.until(f"-c@{changed.metadata.resource_version}")
        assert sorted(informer.store) == ["a", "b"]


async def test_an_informer_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "api"
    async with contextlib.AsyncExitStack() as stack:
        async with running(Settings(data_dir=folder)) as server:
            port = int(server.url.rpartition(":")[2])
            client = await stack.enter_async_context(Client(load(server.kubeconfig)))
            await make_nodes(client, "a", "b")
            informer = await stack.enter_async_context(following(client, NODES))
            await informer.synced()
            journal = Journal()
            informer.add_handler(journal)
        async with running(Settings(data_dir=folder, port=port)):
            (made,) = await make_nodes(client, "c")
            await journal.until(f"+c@{made.metadata.resource_version}")
            assert sorted(informer.store) == ["a", "b", "c"]
            await client.delete(NODES, "a")
            await journal.until("-a@" + journal.lines[0].partition("@")[2])


async def test_a_namespaced_informer_sees_its_namespace_only(api: Client) -> None:
    for space in ("one", "two"):
        await api.create(NAMESPACES, {"metadata": {"name": space}})
        await api.create(CONFIG_MAPS, {"metadata": {"name": "x"}, "data": {"in": space}}, namespace=space)
    informer = Informer(api, CONFIG_MAPS, namespace="two")
    task = asyncio.create_task(informer.run())
    await informer.synced()
    assert [obj.data for obj in informer.store.values()] == [{"in": "two"}]
    assert list(informer.store) == ["two/x"]
    task.cancel()
    await asyncio.wait([task])


class StepClock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps here")


async def test_the_same_event_within_ten_minutes_is_counted_up(api: Client) -> None:
    clock = StepClock()
    (node,) = await make_nodes(api, "w1")
    recorder = Recorder(api, "machineconfigcontroller-nodecontroller", "default", host="m1", clock=clock)
    for minutes in (0, 9, 9, 11):
        clock.time += timedelta(minutes=minutes)
        recorder.event(node, NORMAL, "SetDesiredConfig", "Targeted node w1 to X")
        await recorder.flush()
    recorder.event(node, WARNING, "SetDesiredConfig", "Targeted node w1 to X")
    recorder.event(node, NORMAL, "SetDesiredConfig", "Targeted node w1 to Y")
    await recorder.flush()
    events = (await api.list(EVENTS, namespace="default")).items
    found = sorted((e.type, e.message[-1], e.count, e.first_timestamp, e.last_timestamp) for e in events)
    assert found == [
        ("Normal", "X", 1, "2026-11-30T12:29:00Z", "2026-11-30T12:29:00Z"),
        ("Normal", "X", 3, "2026-11-30T12:00:00Z", "2026-11-30T12:18:00Z"),
        ("Normal", "Y", 1, "2026-11-30T12:29:00Z", "2026-11-30T12:29:00Z"),
        ("Warning", "X", 1, "2026-11-30T12:29:00Z", "2026-11-30T12:29:00Z"),
    ]
    assert recorder.dropped == 0


async def test_an_event_names_its_object_and_source_and_lies_in_the_recorders_namespace(api: Client) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "mco"}})
    (node,) = await make_nodes(api, "w1")
    recorder = Recorder(api, "machineconfigdaemon", "mco", host="w1")
    recorder.event(node, NORMAL, "Reboot", "Node will reboot")
    recorder.event(ObjectReference(kind="Pod", name="p", namespace="default"), WARNING, "R", "m")
    await recorder.flush()
    (event,) = (await api.list(EVENTS, namespace="mco")).items
    about = event.involved_object
    assert (about.kind, about.name, about.uid, about.namespace) == ("Node", "w1", node.metadata.uid, "mco")
    assert about.api_version == "v1"
    assert (event.source.component, event.source.host) == ("machineconfigdaemon", "w1")
    assert event.name.startswith("w1.")
    (other,) = (await api.list(EVENTS, namespace="default")).items
    assert other.involved_object.name == "p"


async def test_an_event_that_was_deleted_meanwhile_is_written_anew(api: Client) -> None:
    (node,) = await make_nodes(api, "w1")
    recorder = Recorder(api, "test", "default")
    for _ in range(2):
        recorder.event(node, NORMAL, "R", "m")
        await recorder.flush()
        for event in (await api.list(EVENTS, namespace="default")).items:
            assert event.count == 1
            await api.delete(EVENTS, event.name, namespace="default")


async def test_events_that_come_faster_than_they_can_be_written_are_counted_at_once(api: Client) -> None:
    (node,) = await make_nodes(api, "w1")
    recorder = Recorder(api, "test", "default")
    for _ in range(5000):
        recorder.event(node, NORMAL, "R", "m")
    await recorder.flush()
    (event,) = (await api.list(EVENTS, namespace="default")).items
    assert (event.count, recorder.dropped) == (5000, 0)


async def test_an_event_never_fails_or_delays_the_work() -> None:
    about = ObjectReference(kind="Node", name="w1")
    async with Client(Cluster(server="http://127.0.0.1:1")) as nowhere:
        recorder = Recorder(nowhere, "test", "default")
        for number in range(1003):
            recorder.event(about, NORMAL, "R", f"message {number}")
        assert recorder.dropped == 3
        await recorder.flush()
        assert recorder.dropped == 1003


async def test_without_a_loop_an_event_is_dropped_quietly() -> None:
    def outside() -> int:
        recorder = Recorder(client, "test", "default")
        recorder.event(ObjectReference(kind="Node", name="w1"), NORMAL, "R", "m")
        return recorder.dropped

    async with Client(Cluster(server="http://127.0.0.1:1")) as client:
        assert await asyncio.to_thread(outside) == 1


async def test_a_node_lease_is_made_once_and_then_renewed(api: Client) -> None:
    clock = StepClock()
    (node,) = await make_nodes(api, "w1")
    owner = OwnerReference(api_version="v1", kind="Node", name="w1", uid=node.metadata.uid)
    lease = NodeLease(api, "w1", owner=owner, clock=clock)
    first = await lease.renew()
    clock.time += timedelta(seconds=10)
    second = await lease.renew()
    assert first.metadata.uid == second.metadata.uid
    kept = await api.get(LEASES, "w1", namespace="kube-node-lease")
    assert (kept.spec.holder_identity, kept.spec.lease_duration_seconds) == ("w1", 40)
    assert parse_rfc3339(kept.spec.renew_time or "") == clock.time
    assert kept.metadata.owner_references == (owner,)


async def test_a_closed_recorder_has_written_what_it_was_told_and_takes_no_more(api: Client) -> None:
    recorder = Recorder(api, "test", "default")
    about = ObjectReference(kind="Node", name="w1")
    recorder.event(about, NORMAL, "R", "before")
    await recorder.close()
    recorder.event(about, NORMAL, "R", "after")
    await recorder.flush()
    assert [e.message for e in (await api.list(EVENTS, namespace="default")).items] == ["before"]
    assert recorder.dropped == 1


async def test_a_server_that_is_away_does_not_hold_up_closing() -> None:
    async with Client(Cluster(server="https://127.0.0.1:1")) as nowhere:
        recorder = Recorder(nowhere, "test", "default")
        for number in range(100):
            recorder.event(ObjectReference(kind="Node", name="w1"), NORMAL, "R", f"message {number}")
        async with asyncio.timeout(5):
            await recorder.close(patience=0.1)
