"""Tokens that nobody knows: who shows them costs the API server next to nothing, however many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from mco.api import bootstraptokens
from mco.api.bootstraptokens import BootstrapToken, to_secret
from mco.api.resources import SECRETS
from mco.configserver.admission import Gate, TokenBook
from mco.configserver.front import Front, Request, Response
from mco.configserver.tokens import UnknownTokens
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.errors import Forbidden, Status, Unreachable
from mco.runtime.supervise import beside
from tests.configserver.clients import FixedConfigs, prepared
from tests.configserver.installation import Installation, installation
from tests.controllers.fleet import HandClock

TOKEN = BootstrapToken(id="abc123", secret="0123456789abcdef", pool="worker")


class Counting(Client):
    """`fails` is raised by its next list; `listed` says that one has ended."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.requests = 0
        self.fails: Exception | None = None
        self.listed = asyncio.Event()

    async def list(self, res: Any, **more: Any) -> Any:
        self.requests += 1
        try:
            return await self._listed(res, **more)
        finally:
            self.listed.set()

    async def _listed(self, res: Any, **more: Any) -> Any:
        if self.fails is not None:
            error, self.fails = self.fails, None
            raise error
        return await super().list(res, **more)


class Desk:
    """Answers of a config server that requires tokens and knows none."""

    def __init__(self, client: Counting) -> None:
        self.client = client
        self.clock = HandClock()
        self.unknown = UnknownTokens(client, self.clock)
        gate = Gate(TokenBook(), lambda: "", require_token=True)
        configs = FixedConfigs({"worker": prepared(1000)})
        self._front = Front(configs, gate.admit, self.clock, unknown=self.unknown)

    def status(self, token_id: str) -> int:
        shown = f"Bearer {token_id}.{TOKEN.secret}"
        answer = self._front.answer(Request(method="GET", target="/config/worker", authorization=shown))
        assert isinstance(answer, Response), "an unknown token is waited for"
        return answer.status

    def flood(self, ids: Iterable[str]) -> set[int]:
        return {self.status(token_id) for token_id in ids}

    async def refused(self, token_id: str) -> None:
        async with asyncio.timeout(30):
            while self.status(token_id) != 401:
                self.client.listed.clear()
                await self.client.listed.wait()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installation(tmp_path) as made:
        yield made


@contextlib.asynccontextmanager
async def desk(cluster: Installation) -> AsyncIterator[Desk]:
    async with Counting(cluster.cluster) as client:
        made = Desk(client)
        async with beside(made.unknown.run()):
            yield made


def ids(count: int, first: str = "a") -> list[str]:
    return [f"{first}{number:05}" for number in range(count)]


async def test_a_flood_of_unknown_tokens_costs_one_look_a_second(cluster: Installation) -> None:
    async with desk(cluster) as made:
        for burst in range(1, 4):
            flood = ids(3000, "abc"[burst - 1])
            assert made.flood(flood) == {503}
            await made.refused(flood[-1])
            assert made.flood(flood) == {401}
            assert made.client.requests == burst
            assert made.clock.seconds >= 1000.0 + burst - 1


async def test_a_token_that_the_watch_has_not_brought_yet_is_never_refused(cluster: Installation) -> None:
    await cluster.client.create(SECRETS, to_secret(TOKEN), namespace=bootstraptokens.NAMESPACE)
    async with desk(cluster) as made:
        for other in ids(3):
            assert made.status(TOKEN.id) == 503
            await made.refused(other)
        assert made.status(TOKEN.id) == 503


async def test_only_so_many_are_remembered(cluster: Installation) -> None:
    async with desk(cluster) as made:
        await made.refused("first1")
        for first in "ab":
            made.flood(ids(9000, first))
            await made.refused(f"last0{first}")
        assert made.status("first1") == 503


async def test_nobody_is_refused_for_an_api_that_does_not_answer(cluster: Installation) -> None:
    async with desk(cluster) as made:
        made.client.fails = Unreachable("it does not answer")
        assert made.status("zzz999") == 503
        async with asyncio.timeout(30):
            await made.client.listed.wait()
        assert made.status("zzz999") == 503
        await made.refused("zzz999")
        assert made.client.requests == 2


async def test_who_may_not_read_tokens_refuses_all(cluster: Installation) -> None:
    async with desk(cluster) as made:
        made.client.fails = Forbidden(Status(message="secrets is forbidden", code=403))
        await made.refused("zzz999")
