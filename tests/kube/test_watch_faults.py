"""What goes wrong with watches in the field, one test each: whatever happened, the cache is right."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from mco.api.core import Node
from mco.api.resources import NODES
from mco.kube.client import Client
from mco.kube.informer import Informer
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

Play = Callable[[Wire], Awaitable[None]]
"""What the server does with one watch."""


@contextlib.asynccontextmanager
async def following(answer: Answer) -> AsyncIterator[tuple[ScriptedServer, Informer[Node], Journal]]:
    """An informer over Nodes that runs against `answer`."""
    async with scripted(answer) as server, Client(server.cluster) as client:
        informer = Informer(client, NODES)
        journal = Journal()
        informer.add_handler(journal)
        task = asyncio.create_task(informer.run())
        try:
            yield server, informer, journal
        finally:
            task.cancel()
            await asyncio.wait([task])


def script(*watches: Play, lists: list[dict[str, Any]] | None = None) -> Answer:
    """Answer the n-th list with the n-th of `lists` (the last again and again) and the n-th watch with the
    n-th of `watches`; further watches stay silent."""
    pending_lists = lists or [node_list(10, node("a", 1))]
    pending_watches = list(watches)

    async def answer(asked: Asked, wire: Wire) -> None:
        if not asked.watches:
            await wire.json(pending_lists.pop(0) if len(pending_lists) > 1 else pending_lists[0])
        elif pending_watches:
            await pending_watches.pop(0)(wire)
        else:
            await wire.start_stream()
            await hold()

    return answer


async def added_b(wire: Wire) -> None:
    await wire.start_stream()
    await wire.event("ADDED", node("b", 12))
    await hold()


@in_virtual_time
async def test_a_stream_that_the_server_closes_is_resumed_from_the_last_event() -> None:
    async def closes(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event("MODIFIED", node("a", 11))
        await wire.end_stream()

    async with following(script(closes, added_b)) as (server, _, journal):
        await journal.until("+b@12")
        assert [w.version for w in server.watches] == ["10", "11"]
        assert len(server.lists) == 1


@in_virtual_time
async def test_a_bookmark_moves_the_point_from_which_a_watch_resumes() -> None:
    async def bookmark(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event(
            "BOOKMARK",
            {"kind": "Node", "metadata": {"resourceVersion": "40", "creationTimestamp": None}, "spec": None},
        )
        await wire.end_stream()

    async with following(script(bookmark, added_b)) as (server, informer, journal):
        await journal.until("+b@12")
        assert [w.version for w in server.watches] == ["10", "40"]
        assert set(informer.store) == {"a", "b"}


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 10 (50)"}


async def gone_in_stream(wire: Wire) -> None:
    await wire.start_stream()
    await wire.event("ERROR", GONE)
    await wire.end_stream()


async def gone_at_once(wire: Wire) -> None:
    await wire.json(GONE, 410)


@pytest.mark.parametrize("gone", [gone_in_stream, gone_at_once])
def test_an_expired_version_lists_again_and_reports_what_vanished_meanwhile(gone: Play) -> None:
    @in_virtual_time
    async def test() -> None:
        before = node_list(10, node("a", 1), node("b", 2), node("c", 3))
        after = node_list(50, node("a", 1), node("c", 44), node("d", 45))
        async with following(script(gone, lists=[before, after])) as (server, informer, journal):
            await journal.until("+d@45")
            assert journal.lines == ["+a@1", "+b@2", "+c@3", "-b@2", "~c@44", "+d@45"]
            assert list(informer.store) == ["a", "c", "d"]
            await server.until_watches(2)
            assert server.watches[1].version == "50"

    test()


@pytest.mark.parametrize("megabytes", [1.5, 5])
def test_a_line_may_be_megabytes_long(megabytes: float) -> None:
    @in_virtual_time
    async def test() -> None:
        text = "x" * int(megabytes * (1 << 20))

        async def big(wire: Wire) -> None:
            await wire.start_stream()
            await wire.event("ADDED", node("big", 11, note=text))
            await hold()

        async with following(script(big)) as (_, informer, journal):
            await journal.until("+big@11")
            stored = informer.store.get("big")
            assert stored is not None
            assert stored.metadata.label("note") == text

    test()


@in_virtual_time
async def test_next_line_and_line_separator_inside_a_string_end_no_line() -> None:
    text = "one\u0085two\u2028three\u2029four\x0b\x0c\r"

    async def odd(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event("ADDED", node("odd", 11, note=text))
        await wire.event("ADDED", node("next", 12))
        await hold()

    async with following(script(odd)) as (server, informer, journal):
        await journal.until("+next@12")
        stored = informer.store.get("odd")
        assert stored is not None
        assert stored.metadata.label("note") == text
        assert len(server.watches) == 1


@in_virtual_time
async def test_a_reset_inside_a_line_loses_and_repeats_nothing() -> None:
    async def cut(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event("ADDED", node("b", 11))
        whole = json.dumps({"type": "ADDED", "object": node("c", 12)}).encode()
        await wire.send(whole[: len(whole) // 2])
        # Let the client take what was sent: a reset throws away what still lies in the socket.
        await asyncio.sleep(0.5)
        wire.reset()

    async def resumed(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event("ADDED", node("c", 12))
        await hold()

    async with following(script(cut, resumed)) as (server, _, journal):
        await journal.until("+c@12")
        assert journal.lines == ["+a@1", "+b@11", "+c@12"]
        assert [w.version for w in server.watches] == ["10", "11"]


@in_virtual_time
async def test_an_orderly_end_inside_a_line_is_a_broken_connection_too() -> None:
    async def cut(wire: Wire) -> None:
        await wire.start_stream()
        await wire.send(b'{"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"12"}}}')
        await wire.end_stream()

    async with following(script(cut, added_b)) as (_, _, journal):
        await journal.until("+b@12")
        assert journal.lines == ["+a@1", "+b@12"]


@in_virtual_time
async def test_errors_of_the_server_are_asked_again_ever_more_slowly() -> None:
    async def broken(wire: Wire) -> None:
        times.append(asyncio.get_running_loop().time())
        await wire.status(500, "InternalError", "etcdserver: no leader")

    times: list[float] = []
    async with following(script(*[broken] * 9, added_b)) as (server, _, journal):
        await journal.until("+b@12")
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert len(server.lists) == 1
        for number, gap in enumerate(gaps):
            full = min(0.2 * 2**number, 30.0)
            assert full / 2 <= gap <= full + 0.1


@in_virtual_time
async def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_hot_loop() -> None:
    async def ends(wire: Wire) -> None:
        await wire.start_stream()
        await wire.end_stream()

    async with following(script(*[ends] * 20, added_b)) as (_, _, journal):
        await journal.until("+b@12")
        assert asyncio.get_running_loop().time() > 100


@in_virtual_time
async def test_half_a_second_of_429_is_waited_out_as_the_server_asks() -> None:
    async def busy(wire: Wire) -> None:
        times.append(asyncio.get_running_loop().time())
        await wire.status(
            429, "TooManyRequests", "too many requests, please try again later", Retry_After="1"
        )

    times: list[float] = []
    async with following(script(busy, busy, added_b)) as (server, _, journal):
        await journal.until("+b@12")
        assert times[1] - times[0] >= 1
        assert len(server.lists) == 1


@in_virtual_time
async def test_a_restarted_server_is_found_again_without_a_new_list() -> None:
    async def silent(wire: Wire) -> None:
        await wire.start_stream()
        await hold()

    async with following(script(silent, added_b)) as (server, informer, journal):
        await informer.synced()
        await server.until_watches(1)
        await server.stop()
        await asyncio.sleep(20)
        await server.start()
        await journal.until("+b@12")
        assert [w.version for w in server.watches] == ["10", "10"]
        assert len(server.lists) == 1


@in_virtual_time
async def test_a_version_from_the_future_lists_again() -> None:
    """A server restored from a backup is behind what it told us before."""

    async def behind(wire: Wire) -> None:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        body = {"kind": "Status", "code": 504, "reason": "Timeout", "details": {"causes": [cause]}}
        await wire.json(body, 504)

    lists = [node_list(10, node("a", 1)), node_list(4, node("z", 3))]
    async with following(script(behind, lists=lists)) as (_, informer, journal):
        await journal.until("+z@3")
        assert list(informer.store) == ["z"]
        assert informer.resource_version == "4"


@in_virtual_time
async def test_an_object_of_another_shape_is_left_as_it_was_and_stops_nobody() -> None:
    async def odd(wire: Wire) -> None:
        await wire.start_stream()
        await wire.event(
            "MODIFIED", {"metadata": {"name": "a", "resourceVersion": "11"}, "spec": {"unschedulable": "?"}}
        )
        await wire.event("ADDED", node("b", 12))
        await hold()

    async with following(script(odd)) as (server, informer, journal):
        await journal.until("+b@12")
        kept = informer.store.get("a")
        assert kept is not None
        assert kept.metadata.resource_version == "1"
        assert len(server.watches) == 1


@in_virtual_time
async def test_a_stream_of_garbage_lists_again() -> None:
    async def garbage(wire: Wire) -> None:
        await wire.start_stream()
        await wire.send(b"<html>gateway</html>\n")
        await hold()

    lists = [node_list(10, node("a", 1)), node_list(20, node("a", 1), node("b", 15))]
    async with following(script(garbage, lists=lists)) as (server, _, journal):
        await journal.until("+b@15")
        assert len(server.lists) == 2
