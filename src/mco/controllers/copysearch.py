"""The search for copies of rendered configs among the nodes, one step at a time.

What is asked of whom stands in annotations of Nodes, so that another process goes on with it; only who was
asked in vain is forgotten with this one.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from mco.api.configcopies import requested
from mco.api.core import Node
from mco.base.errors import InvalidInput
from mco.controllers.caches import Caches
from mco.controllers.copies import NodeCopies
from mco.kube.client import Client
from mco.kube.events import EventSink
from mco.plan.pool import copies as plan
from mco.render.copies import Spec
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.copysearch")

PATIENCE = 30.0
"""Seconds that a node has for its answer: it may be in the middle of something."""
AGAIN, RARELY = 60.0, 600.0
"""Seconds until nodes are asked again that could not help: after the first round, and at most."""


class Later(msgspec.Struct, frozen=True):
    seconds: float


class Found(msgspec.Struct, frozen=True):
    """`node` gave it."""

    spec: Spec
    node: str


class Lost(msgspec.Struct, frozen=True):
    """For now. `news`: this was not said before. `asked`: who had no copy; `silent`: who may have one."""

    seconds: float
    news: bool
    asked: tuple[str, ...]
    silent: tuple[str, ...]


class _Search(msgspec.Struct):
    """`since`: when each request was seen first, by nonce; `again`: when the next round begins, if this one
    was in vain. Both on the monotonic clock. `rounds`: how many were."""

    since: dict[str, float] = msgspec.field(default_factory=dict)
    asked: set[str] = msgspec.field(default_factory=set)
    vain: Counter[str] = msgspec.field(default_factory=Counter)
    again: float | None = None
    rounds: int = 0


class CopySearch:
    """`open`: the configs that are searched for, or that nodes were asked for."""

    def __init__(self, client: Client, caches: Caches, events: EventSink, clock: Clock) -> None:
        self.copies = NodeCopies(client, caches.nodes.store, clock)
        self._caches = caches
        self._events = events
        self._clock = clock
        self._searches: dict[str, _Search] = {}

    @property
    def open(self) -> set[str]:
        return set(self._searches)

    def saw(self, old: Node | None, new: Node | None) -> None:
        """A request may be from a process that is no more."""
        for node in (old, new):
            if node is not None and (request := requested(node)):
                self._searches.setdefault(request.config, _Search())
        if old is not None and new is None:
            self.copies.forget(old.name)

    async def go_on(self, config: str) -> Later | Found | Lost:
        """Whatever comes next: asks, takes an answer, or turns to another node."""
        search = self._searches.setdefault(config, _Search())
        match plan.next_step(self._facts(config, search)):
            case plan.Ask(node):
                search.since[await self.copies.ask(node, config)] = self._clock.monotonic()
                return Later(PATIENCE)
            case plan.Wait(seconds):
                return Later(seconds)
            case plan.Take() as given:
                return await self._take(config, search, given)
            case plan.Drop(node):
                await self._drop(search, node)
                return Later(0.0)
            case plan.GiveUp(silent):
                return self._lost(search, silent)

    async def close(self, config: str) -> None:
        """Nothing is searched for any more; what was asked is taken back."""
        if config not in self._searches:
            return
        for node in self.copies.nodes():
            if (request := requested(node)) and request.config == config:
                await self.copies.close(node)
        del self._searches[config]

    def _facts(self, config: str, search: _Search) -> plan.Facts:
        now, nodes = self._clock.monotonic(), self.copies.nodes()
        if search.again is not None and now >= search.again:
            search.asked, search.again = set(), None
        asked = {request.nonce for node in nodes if (request := requested(node)) and request.config == config}
        search.since = {nonce: search.since.get(nonce, now) for nonce in asked}
        return plan.Facts(
            config=config,
            nodes=nodes,
            reports=self._caches.reports.store.values(),
            waited={nonce: now - since for nonce, since in search.since.items()},
            asked=search.asked,
            vain=search.vain,
            patience=PATIENCE,
        )

    async def _take(self, config: str, search: _Search, given: plan.Take) -> Later | Found:
        try:
            return Found(await self.copies.read(given, config), given.node.name)
        except InvalidInput as error:
            text = f"the copy of {config} that {given.node.name} gave is not used: {error}"
            self._events.event(given.node, "Warning", "RenderedConfigCopyRefused", text)
            _log.error("a node gave something else than it was asked for", config=config, error=str(error))
            await self._drop(search, given.node)
            return Later(0.0)

    async def _drop(self, search: _Search, node: Node) -> None:
        search.asked.add(node.name)
        search.vain[node.name] += 1
        await self.copies.close(node)

    def _lost(self, search: _Search, silent: tuple[str, ...]) -> Lost:
        now, news = self._clock.monotonic(), search.again is None
        if search.again is None:
            search.again = now + min(AGAIN * 2**search.rounds, RARELY)
            search.rounds += 1
        unasked = tuple(node for node in silent if node not in search.asked)
        return Lost(search.again - now, news, tuple(sorted(search.asked)), unasked)
