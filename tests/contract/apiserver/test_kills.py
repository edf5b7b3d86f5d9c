"""No acknowledged write is lost, and no other is there by half: a server killed under its writers."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.contract.apiserver.embedded import Nursery
from tests.contract.apiserver.endpoint import Api, Body, Reply

MAPS = "/api/v1/namespaces/default/configmaps"
KILLS = 200
WRITERS = 8
MOST_WRITES = 40
"""Of one life, at the end of which the server is killed."""
_PADDING = 500


class Writer:
    """Creates, replaces, patches and deletes its two objects in turn, one request at a time.

    `known` is what was acknowledged last (None: that there is nothing); `attempt` is the request without an
    answer: an object's name and the data that it would have, or None."""

    def __init__(self, number: int) -> None:
        self.known: dict[str, Body | None] = {f"w{number}-{letter}": None for letter in "ab"}
        self.attempt: tuple[str, dict[str, str] | None] | None = None
        self._counts = itertools.count()
        self._turns: Iterator[tuple[str, str]] = itertools.cycle(
            itertools.product(self.known, ("create", "update", "patch", "delete"))
        )

    async def write(self, api: Api, acknowledged: Callable[[Body], None]) -> None:
        """Until the server is gone; `acknowledged` gets each object that the server said it has."""
        while True:
            name, verb = next(self._turns)
            count = str(next(self._counts))
            data = {"count": count, "twin": count, "padding": f"{count}," * _PADDING}
            self.attempt = (name, None if verb == "delete" else data)
            try:
                reply = await self._ask(api, verb, name, data)
            except (aiohttp.ClientError, OSError):
                return
            # A turn that the last life did not answer may have happened, or not.
            if reply.status in (404, 409):
                continue
            assert reply.status in (200, 201), reply.body
            self.known[name] = None if verb == "delete" else reply.body
            self.attempt = None
            acknowledged(reply.body)

    async def _ask(self, api: Api, verb: str, name: str, data: dict[str, str]) -> Reply:
        old = self.known[name] or {"metadata": {"name": name}}
        match verb:
            case "create":
                return await api.post(MAPS, {"metadata": {"name": name}, "data": data})
            case "update":
                return await api.put(f"{MAPS}/{name}", {**old, "data": data})
            case "patch":
                return await api.patch(f"{MAPS}/{name}", {"data": data})
        return await api.delete(f"{MAPS}/{name}")

    def check(self, stored: dict[str, Body]) -> None:
        """Each object is as acknowledged, or as the one unanswered request would have made it."""
        for name, known in self.known.items():
            now = stored.get(name)
            if now != known:
                assert self.attempt is not None, (known, now)
                assert self.attempt == (name, now and now["data"]), (known, now)
            self.known[name] = now
        self.attempt = None


class Past(dict[str, Body]):
    """What there was in the earlier lives, by name, as of `revision`."""

    revision = ""

    async def catch_up(self, api: Api, acknowledged: set[str]) -> dict[str, Body]:
        """What there is now. Each acknowledged revision is in the history, which leads to just that."""
        listed = (await api.get(MAPS)).body
        stored = {
            item["metadata"]["name"]: item for item in listed["items"] if item["metadata"]["name"][0] == "w"
        }
        if self.revision:
            await self._replay(api, listed["metadata"]["resourceVersion"], acknowledged)
            assert self == stored
        self.revision = listed["metadata"]["resourceVersion"]
        return stored

    async def _replay(self, api: Api, until: str, acknowledged: set[str]) -> None:
        missing, version = set(acknowledged), self.revision
        async with api.watch(MAPS, resourceVersion=self.revision) as events:
            while version != until:
                event = await events.next()
                version = event["object"]["metadata"]["resourceVersion"]
                missing.discard(version)
                self._apply(event["type"], event["object"])
        assert not missing

    def _apply(self, kind: str, changed: Body) -> None:
        name = changed["metadata"]["name"]
        assert changed["data"]["count"] == changed["data"]["twin"]
        assert (kind == "ADDED") == (name not in self)
        if kind == "DELETED":
            del self[name]
        else:
            self[name] = changed


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    writers = [Writer(number) for number in range(WRITERS)]
    past, acknowledged = Past(), set[str]()
    lengths = random.Random(1)
    with Nursery(tmp_path) as nursery:
        for _ in range(KILLS):
            acknowledged = await _one_life(
                nursery, writers, past, acknowledged, lengths.randint(1, MOST_WRITES)
            )
        async with Api.of(nursery.start()) as api:
            stored = await past.catch_up(api, acknowledged)
        for writer in writers:
            writer.check(stored)


async def _one_life(
    nursery: Nursery, writers: list[Writer], past: Past, before: set[str], length: int
) -> set[str]:
    """Everything of the earlier life is there; then the server is killed as soon as `length` writes were
    acknowledged. Their revisions."""
    acknowledged: list[str] = []

    def note(answer: Body) -> None:
        metadata: dict[str, Any] = answer["metadata"]
        acknowledged.append(metadata.get("resourceVersion", ""))
        if len(acknowledged) == length:
            nursery.kill()

    async with Api.of(nursery.start()) as api:
        stored = await past.catch_up(api, before)
        for writer in writers:
            writer.check(stored)
        await asyncio.gather(*(writer.write(api, note) for writer in writers))
    return set(filter(None, acknowledged))
