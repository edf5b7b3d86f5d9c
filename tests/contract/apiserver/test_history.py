"""The past: what can be asked about it, and what is said when it was forgotten."""

from __future__ import annotations

import pytest

from tests.contract.apiserver.endpoint import Api, Endpoint

FUTURE = "999999999"


@pytest.fixture
async def maps(api: Api, namespace: str) -> str:
    for name in "abc":
        await api.create(f"{namespace}/configmaps", {"metadata": {"name": name}})
    return f"{namespace}/configmaps"


async def test_forgotten_history_is_gone_and_the_rest_is_not(api: Api, endpoint: Endpoint, maps: str) -> None:
    old = (await api.get(maps)).body["metadata"]["resourceVersion"]
    page = (await api.get(maps, limit="1")).body["metadata"]["continue"]
    for number in range(3):
        await api.patch(f"{maps}/a", {"data": {"k": str(number)}})
    now = (await api.get(maps)).body["metadata"]["resourceVersion"]
    endpoint.forget_history(int(now))
    async with endpoint.api() as api:
        paged = await api.get(maps, limit="1", continue_=page)
        assert (paged.status, paged.body["reason"]) == (410, "Expired")
        exact = await api.get(maps, resourceVersion=old, resourceVersionMatch="Exact")
        assert (exact.status, exact.body["reason"]) == (410, "Expired")
        async with api.watch(maps, resourceVersion=old) as events:
            if events.response.status == 200:
                error = await events.next()
                assert error["type"] == "ERROR"
                status = error["object"]
            else:
                status = await events.response.json()
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"].startswith(f"too old resource version: {old} (")
        now = (await api.get(maps)).body["metadata"]["resourceVersion"]
        async with api.watch(maps, resourceVersion=now) as events:
            await api.patch(f"{maps}/a", {"data": {"k": "last"}})
            assert (await events.next())["object"]["data"] == {"k": "last"}
        assert [item["metadata"]["name"] for item in (await api.get(maps)).body["items"]] == list("abc")


async def test_an_expired_page_comes_with_a_token_that_goes_on_inconsistently(
    api: Api, endpoint: Endpoint, maps: str
) -> None:
    page = (await api.get(maps, limit="1")).body["metadata"]["continue"]
    await api.create(maps, {"metadata": {"name": "d"}})
    endpoint.forget_history(int((await api.get(maps)).body["metadata"]["resourceVersion"]))
    async with endpoint.api() as api:
        expired = await api.get(maps, limit="1", continue_=page)
        assert expired.status == 410
        rest = await api.get(maps, continue_=expired.body["metadata"]["continue"])
        assert [item["metadata"]["name"] for item in rest.body["items"]] == list("bcd")


async def test_an_object_can_be_asked_for_at_least_as_new(api: Api, maps: str) -> None:
    made = (await api.patch(f"{maps}/a", {"data": {"k": "v"}})).body
    reply = await api.get(f"{maps}/a", resourceVersion=made["metadata"]["resourceVersion"])
    assert reply.body == made
    late = await api.get(f"{maps}/a", resourceVersion=FUTURE)
    assert (late.status, late.body["reason"]) == (504, "Timeout")
    assert "Too large resource version" in late.message


async def test_a_watch_from_the_future_says_nothing_before_it_comes(api: Api, maps: str) -> None:
    now = int((await api.get(maps)).body["metadata"]["resourceVersion"])
    async with api.watch(maps, resourceVersion=str(now + 1000), timeoutSeconds="2") as events:
        assert events.response.status == 200
        await api.create(maps, {"metadata": {"name": "d"}})
        with pytest.raises(EOFError):
            await events.next()


async def test_a_watch_from_the_future_goes_on_when_it_has_come(api: Api, maps: str) -> None:
    now = int((await api.get(maps)).body["metadata"]["resourceVersion"])
    async with api.watch(maps, resourceVersion=str(now + 3)) as events:
        for number in range(6):
            await api.patch(f"{maps}/a", {"data": {"k": str(number)}})
        event = await events.next()
    assert event["type"] == "MODIFIED"
    assert int(event["object"]["metadata"]["resourceVersion"]) > now + 3


async def test_initial_events_of_the_future_are_refused(api: Api, maps: str) -> None:
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "resourceVersion": FUTURE,
        "timeoutSeconds": "5",
    }
    async with api.watch(maps, **query) as events:
        if events.response.status == 200:
            error = await events.next()
            assert error["type"] == "ERROR"
            status = error["object"]
        else:
            status = await events.response.json()
    assert (status["code"], status["reason"]) == (504, "Timeout")
    causes = status["details"]["causes"]
    assert [cause["reason"] for cause in causes] == ["ResourceVersionTooLarge"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            {"resourceVersionMatch": "Exact"},
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            {"resourceVersionMatch": "Sometimes", "resourceVersion": "1"},
            'supported values: "Exact", "NotOlderThan"',
        ),
        ({"sendInitialEvents": "true"}, "sendInitialEvents is forbidden for list"),
    ],
)
async def test_how_a_list_may_not_be_asked(api: Api, maps: str, query: dict[str, str], text: str) -> None:
    reply = await api.get(maps, **query)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert text in reply.message


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"resourceVersionMatch": "NotOlderThan"}, "resourceVersionMatch is forbidden for watch unless"),
        ({"sendInitialEvents": "false"}, "sendInitialEvents requires setting resourceVersionMatch"),
        (
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact", "resourceVersion": "1"},
            'supported values: "NotOlderThan"',
        ),
    ],
)
async def test_how_a_watch_may_not_be_asked(api: Api, maps: str, query: dict[str, str], text: str) -> None:
    reply = await api.get(maps, watch="true", **query)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert text in reply.message


async def test_a_page_of_another_revision_is_refused(api: Api, maps: str) -> None:
    page = (await api.get(maps, limit="1")).body["metadata"]["continue"]
    reply = await api.get(maps, continue_=page, resourceVersion="5")
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")
    assert reply.message == "specifying resource version is not allowed when using continue"


async def test_initial_events_can_be_left_out(api: Api, maps: str) -> None:
    now = (await api.get(maps)).body["metadata"]["resourceVersion"]
    query = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan", "resourceVersion": now}
    async with api.watch(maps, **query) as events:
        await api.create(maps, {"metadata": {"name": "d"}})
        first = await events.next()
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "d")


async def test_a_held_deletion_is_a_change_and_then_an_end(api: Api, maps: str) -> None:
    await api.create(maps, {"metadata": {"name": "h", "finalizers": ["example.com/wait"]}})
    now = (await api.get(maps)).body["metadata"]["resourceVersion"]
    async with api.watch(maps, resourceVersion=now) as events:
        await api.delete(f"{maps}/h")
        await api.patch(f"{maps}/h", {"metadata": {"finalizers": None}})
        seen = [await events.next() for _ in range(2)]
    assert [event["type"] for event in seen] == ["MODIFIED", "DELETED"]
    held, gone = (event["object"]["metadata"] for event in seen)
    assert held["deletionTimestamp"]
    assert held["finalizers"] == ["example.com/wait"]
    assert int(gone["resourceVersion"]) > int(held["resourceVersion"])


async def test_bookmarks_come_only_to_those_who_ask(api: Api, maps: str) -> None:
    async with api.watch(maps, timeoutSeconds="1", resourceVersion="0") as events:
        seen = [(await events.next())["type"] for _ in range(3)]
        with pytest.raises(EOFError):
            await events.next()
    assert seen == ["ADDED"] * 3
