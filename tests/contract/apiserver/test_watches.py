"""Watch: what is there, what happened, what happens."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import TABLE, Api, Body


def _seen(events: list[Body]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def _make(api: Api, path: str, name: str, **labels: str) -> Body:
    return await api.create(path, {"metadata": {"name": name, "labels": labels}})


@pytest.fixture
async def maps(api: Api, namespace: str) -> str:
    path = f"{namespace}/configmaps"
    await _make(api, path, "old", l="x")
    return path


async def test_without_a_revision_what_is_there_comes_first(api: Api, maps: str) -> None:
    async with api.watch(maps) as events:
        first = await events.next()
        await _make(api, maps, "new")
        second = await events.next()
    assert _seen([first, second]) == [("ADDED", "old"), ("ADDED", "new")]


async def test_from_a_revision_only_what_came_after(api: Api, maps: str) -> None:
    revision = (await api.get(maps)).body["metadata"]["resourceVersion"]
    await _make(api, maps, "a")
    await api.patch(f"{maps}/a", {"data": {"k": "v"}})
    await api.delete(f"{maps}/a")
    async with api.watch(maps, resourceVersion=revision) as events:
        seen = [await events.next() for _ in range(3)]
        await _make(api, maps, "b")
        seen.append(await events.next())
    assert _seen(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))
    assert seen[1]["object"]["data"] == {"k": "v"}


async def test_who_enters_a_selection_is_added_and_who_leaves_deleted(api: Api, maps: str) -> None:
    revision = (await api.get(maps)).body["metadata"]["resourceVersion"]
    await _make(api, maps, "a")
    async with api.watch(maps, resourceVersion=revision, labelSelector="l=x") as events:
        await api.patch(f"{maps}/a", {"metadata": {"labels": {"l": "x"}}})
        await api.patch(f"{maps}/a", {"data": {"k": "v"}})
        left = await api.patch(f"{maps}/a", {"metadata": {"labels": {"l": "y"}}})
        await api.delete(f"{maps}/a")
        await api.delete(f"{maps}/old")
        seen = [await events.next() for _ in range(4)]
    assert _seen(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("DELETED", "old")]
    gone = seen[2]["object"]["metadata"]
    assert gone["labels"] == {"l": "x"}
    assert gone["resourceVersion"] == left.body["metadata"]["resourceVersion"]


async def test_the_same_selection_over_the_past(api: Api, maps: str) -> None:
    revision = (await api.get(maps)).body["metadata"]["resourceVersion"]
    await _make(api, maps, "a", l="x")
    await api.patch(f"{maps}/a", {"metadata": {"labels": {"l": "y"}}})
    async with api.watch(maps, resourceVersion=revision, labelSelector="l=x") as events:
        seen = [await events.next() for _ in range(2)]
    assert _seen(seen) == [("ADDED", "a"), ("DELETED", "a")]


async def test_one_object_by_name(api: Api, maps: str) -> None:
    async with api.watch(maps, fieldSelector="metadata.name=a") as events:
        await _make(api, maps, "b")
        await _make(api, maps, "a")
        assert _seen([await events.next()]) == [("ADDED", "a")]


async def test_a_field_of_a_kind_selects(api: Api, prefix: str) -> None:
    await api.create("/api/v1/nodes", {"metadata": {"name": prefix}})
    revision = (await api.get("/api/v1/nodes")).body["metadata"]["resourceVersion"]
    cordoned = f"spec.unschedulable=true,metadata.name={prefix}"
    async with api.watch("/api/v1/nodes", resourceVersion=revision, fieldSelector=cordoned) as events:
        await api.patch(f"/api/v1/nodes/{prefix}", {"spec": {"unschedulable": True}})
        await api.patch(f"/api/v1/nodes/{prefix}", {"spec": {"unschedulable": False}})
        assert _seen([await events.next() for _ in range(2)]) == [("ADDED", prefix), ("DELETED", prefix)]


async def test_initial_events_end_with_a_bookmark(api: Api, maps: str) -> None:
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "resourceVersion": "0",
    }
    async with api.watch(maps, **query) as events:
        seen = await events.until("BOOKMARK")
    assert _seen(seen) == [("ADDED", "old"), ("BOOKMARK", "")]
    mark = seen[1]["object"]
    assert mark["kind"] == "ConfigMap"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(mark["metadata"]["resourceVersion"]) >= int(seen[0]["object"]["metadata"]["resourceVersion"])


async def test_initial_events_need_a_match_rule(api: Api, maps: str) -> None:
    reply = await api.get(maps, watch="true", sendInitialEvents="true")
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in reply.message


async def test_a_watch_ends_in_time_with_a_bookmark_and_is_resumed_from_it(api: Api, maps: str) -> None:
    """The bookmark is newer than anything that the watch has told of."""
    async with api.watch(maps, timeoutSeconds="4", allowWatchBookmarks="true") as events:
        told = [await events.next()]
        await _make(api, "/api/v1/namespaces/default/configmaps", maps.split("/")[4])
        told += [*await events.until("BOOKMARK"), *await events.rest()]
    kinds = [event["type"] for event in told]
    assert (kinds[0], set(kinds[1:])) == ("ADDED", {"BOOKMARK"})
    first, last = (int(event["object"]["metadata"]["resourceVersion"]) for event in (told[0], told[-1]))
    assert last > first
    await _make(api, maps, "after")
    async with api.watch(maps, resourceVersion=str(last)) as events:
        assert _seen([await events.next()]) == [("ADDED", "after")]


async def test_a_watch_of_one_namespace_hears_of_no_other(api: Api, maps: str) -> None:
    revision = (await api.get(maps)).body["metadata"]["resourceVersion"]
    async with api.watch(maps, resourceVersion=revision) as events:
        await _make(api, "/api/v1/namespaces/default/configmaps", maps.split("/")[4])
        await _make(api, maps, "here")
        assert _seen([await events.next()]) == [("ADDED", "here")]


async def test_all_namespaces_are_watched_at_once(api: Api, maps: str) -> None:
    async with api.watch("/api/v1/configmaps", fieldSelector="metadata.name=unique-name") as events:
        await _make(api, maps, "unique-name")
        assert _seen([await events.next()]) == [("ADDED", "unique-name")]


async def test_line_separators_in_an_object_do_not_break_lines(api: Api, maps: str) -> None:
    async with api.watch(maps, fieldSelector="metadata.name=nel") as events:
        text = "a\u0085b\u2028c\nd"
        await api.create(maps, {"metadata": {"name": "nel"}, "data": {"k": text}})
        assert (await events.next())["object"]["data"] == {"k": text}


async def test_a_watch_as_tables(api: Api, maps: str) -> None:
    async with api.watch(maps, accept=TABLE) as events:
        event = await events.next()
    table = event["object"]
    assert (event["type"], table["kind"]) == ("ADDED", "Table")
    assert table["rows"][0]["cells"][:2] == ["old", 0]
