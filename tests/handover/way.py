"""The way of one process to the API server: what it writes is seen, and can be held back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from mco.kube.config import load
from mco.pki import kubeconfig
from tests.kube.between import Passage
from tests.kube.scripted import Asked, ScriptedServer, Wire, scripted
from tests.servers.real import RealServer


class Write(NamedTuple):
    method: str
    path: str
    status: int


class Way:
    """`writes` are those that were passed on; Leases are left out, and Events: those tell what happened,
    whoever leads now. `untied` are those among them that would hold whatever has happened since they were
    decided on. `kubeconfig` leads through here."""

    def __init__(self, server: RealServer, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self.writes: list[Write] = []
        self.untied: list[str] = []
        self.held = asyncio.Event()
        self.renewed = asyncio.Event()
        self._passage = Passage(load(server.kubeconfig))
        self._ca = server.authority.certificate_pem
        self._holds: Callable[[Asked], bool] = lambda _: False
        self._go = asyncio.Event()
        self._gone = asyncio.Event()

    def leads_through(self, proxy: ScriptedServer) -> None:
        text = kubeconfig.with_token(proxy.cluster.server, self._ca, "test", "nobody-asks")
        self.kubeconfig.write_bytes(text)

    def hold(self, which: Callable[[Asked], bool]) -> None:
        """The next request of this kind waits here; `held` says that it does."""
        self._holds = which

    async def let_go(self) -> Write:
        """Passes on what was held, and says what became of it."""
        before = len(self.writes)
        self._go.set()
        await self._gone.wait()
        return self.writes[before]

    async def answer(self, asked: Asked, wire: Wire) -> None:
        if holds := self._holds(asked):
            self._holds = lambda _: False
            self.held.set()
            await self._go.wait()
        status = await self._passage.forward(asked, wire)
        if asked.method == "GET":
            return
        if "/leases/" in asked.path:
            self.renewed.set()
        elif "/events" not in asked.path:
            if not _tied(asked):
                self.untied.append(f"{asked.method} {asked.path} {asked.body.decode()}")
            self.writes.append(Write(asked.method, asked.path, status))
        if holds:
            self._gone.set()


def _tied(asked: Asked) -> bool:
    """Whether a write carries what it was decided on; what is created has a name that follows from it."""
    body = asked.json()
    if isinstance(body, list):
        return any(step["op"] == "test" or step["path"] == "/metadata/resourceVersion" for step in body)
    if asked.method == "DELETE":
        return "resourceVersion" in body.get("preconditions", {})
    if asked.method == "POST":
        return bool(body["metadata"].get("name"))
    return bool(body.get("metadata", {}).get("resourceVersion"))


@contextlib.asynccontextmanager
async def way(server: RealServer, folder: Path) -> AsyncIterator[tuple[Way, ScriptedServer]]:
    found = Way(server, folder)
    async with scripted(found.answer) as proxy:
        found.leads_through(proxy)
        yield found, proxy
