"""Answers what a daemon asks before and after an update: cordon and drain, or uncordon (spec/node.md 4).

`reconcile` takes a node's name. It never waits inside: a drain that is not finished comes back after a while,
so that one node's stubborn pod holds up no other node.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.controllers.drainreport import DrainReports
from mco.controllers.eviction import Evictions, Look
from mco.controllers.newest import Newest
from mco.kube.client import Client
from mco.kube.errors import APIError, ConflictError, NotFoundError
from mco.kube.events import EventSink
from mco.kube.informer import Informer
from mco.plan.pool import drain
from mco.plan.pool.drain import DrainRequest
from mco.runtime.clock import Clock

PLACES = 5
"""Nodes that are emptied at the same time (spec/node.md 4.2). One whose pods may not go leaves its place."""


class Delays(msgspec.Struct, frozen=True):
    """Seconds (spec/node.md 4.1). Within an attempt of `attempt`: `evicting` between looks at pods on their
    way out, `refused` before asking again after a refusal. An attempt that did not end in time is followed by
    `blocked`, or `failing` once the drain has been going on for `threshold`; `alert`: when it is worth an
    event of its own. `report`: how long a daemon has to say itself that its request was fulfilled.

    Pods are looked at, not watched: a cache of a whole cluster's pods costs the controllers far more, all the
    time, than a list of one node's pods costs the server each second while at most PLACES nodes drain."""

    evicting: float = 1.0
    refused: float = 5.0
    attempt: float = 90.0
    blocked: float = 60.0
    failing: float = 300.0
    threshold: float = 600.0
    alert: float = 3600.0
    report: float = 3.0


class _Drain(msgspec.Struct):
    """A drain that is going on: when it and its present attempt began (monotonic), and what it last said."""

    since: float
    attempt: float
    said: str = ""


class DrainController:
    """`reconcile` takes a node's name; `affected` says whether an event of a node is about draining.
    `failing`: the nodes whose drain has failed for longer than `Delays.alert`."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        reports: Informer[MachineConfigNode],
        events: EventSink,
        clock: Clock,
        delays: Delays = Delays(),  # noqa: B008 - immutable
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._events = events
        self._clock = clock
        self._delays = delays
        self._evictions = Evictions(client)
        self._reports = DrainReports(client, reports, clock)
        self._newest: Newest[Node] = Newest()
        self._drains: dict[str, _Drain] = {}
        self._places: set[str] = set()
        self._told: dict[str, float] = {}
        self.failing: set[str] = set()

    def affected(self, old: Node | None, new: Node | None) -> set[str]:
        if old is not None and new is not None and _asks(old) == _asks(new):
            return set()
        return {node.name for node in (old, new) if node is not None}

    async def reconcile(self, name: str) -> float | None:
        """Returns the seconds after which to look again, None when there is nothing to do."""
        cached = self._nodes.store.get(name)
        node = self._newest.of(cached) if cached is not None else None
        request = drain.request(node) if node is not None else None
        if node is None or request is None:
            self._forget(name)
            self._newest.forget(name)
            return None
        if request.fulfilled:
            return await self._say(node, request)
        if request.cordon:
            return await self._drain(node, request)
        self._forget(name)
        return await self._uncordon(node, request)

    async def _say(self, node: Node, request: DrainRequest) -> float | None:
        """Unless the daemon had no time yet to say it itself."""
        early = self._told.get(node.name, 0.0) - self._clock.monotonic()
        if early > 0:
            return early
        self._forget(node.name)
        await (self._reports.drained(node) if request.cordon else self._reports.uncordoned(node))
        return None

    async def _uncordon(self, node: Node, request: DrainRequest) -> float:
        try:
            await self._finish(node, request, unschedulable=False)
        except (ConflictError, NotFoundError):
            raise
        except APIError as error:
            await self._reports.uncordon_failed(node, f"failed to uncordon node: {error}")
            raise
        return self._delays.report

    async def _drain(self, node: Node, request: DrainRequest) -> float | None:
        """One look at the node's pods; another one follows until all have left."""
        if node.name not in self._places and len(self._places) >= PLACES:
            return self._delays.evicting
        self._places.add(node.name)
        try:
            node = await self._cordoned(node)
            look = await self._evictions.look(node.name)
            if not look.leaving:
                await self._finish(node, request, unschedulable=True)
                return self._delays.report
        except Exception:
            self._places.discard(node.name)
            raise
        return await self._go_on(node, look)

    async def _cordoned(self, node: Node) -> Node:
        """A node that somebody uncordoned in between starts anew."""
        now = self._clock.monotonic()
        if node.name not in self._drains or not node.spec.unschedulable:
            self._drains[node.name] = _Drain(now, now)
        if node.spec.unschedulable:
            return node
        try:
            return await self._patch(node, {"spec": {"unschedulable": True}})
        except (ConflictError, NotFoundError):
            raise
        except APIError as error:
            await self._reports.cordon_failed(node, f"failed to cordon node: {error}")
            raise

    async def _go_on(self, node: Node, look: Look) -> float:
        """Says what holds the drain up, when that is news, and when to look again."""
        going = self._drains[node.name]
        refused = "; ".join(look.refusals)
        if refused and refused != going.said:
            self._events.event(node, "Warning", "DrainBlocked", f"{node.name}: {refused}")
        going.said = refused
        await self._reports.draining(node, drain.draining(look.refusals))
        over = self._clock.monotonic() - going.attempt >= self._delays.attempt
        if over or refused:
            self._places.discard(node.name)
        if not over:
            return self._delays.refused if refused else self._delays.evicting
        still = ", ".join(pod.key for pod in look.leaving)
        return self._attempt_failed(node, going, refused or f"pods do not end: {still}")

    def _attempt_failed(self, node: Node, going: _Drain, text: str) -> float:
        """What it tells depends on how long the drain had been going on when the attempt began."""
        elapsed = going.attempt - going.since
        pause = self._delays.blocked
        if elapsed > self._delays.alert:
            self.failing.add(node.name)
            self._events.event(node, "Warning", "DrainFailed", f"failed to drain node {node.name}: {text}")
        if elapsed > self._delays.threshold:
            pause = self._delays.failing
            self._events.event(node, "Warning", "DrainThresholdExceeded", f"{node.name}: {text}")
        going.attempt = self._clock.monotonic() + pause
        return pause

    async def _finish(self, node: Node, request: DrainRequest, *, unschedulable: bool) -> None:
        """Says that the request is fulfilled, unless somebody changed the node since it was looked at."""
        marks = {"annotations": {names.LAST_APPLIED_DRAIN: request.key}}
        await self._patch(node, {"metadata": marks, "spec": {"unschedulable": unschedulable or None}})
        self._forget(node.name)
        self._told[node.name] = self._clock.monotonic() + self._delays.report

    async def _patch(self, node: Node, body: dict[str, Any]) -> Node:
        metadata = body.setdefault("metadata", {})
        metadata["resourceVersion"] = node.metadata.resource_version
        return self._newest.wrote(await self._client.patch(resources.NODES, node.name, body))

    def _forget(self, name: str) -> None:
        self._drains.pop(name, None)
        self._told.pop(name, None)
        self._places.discard(name)
        self.failing.discard(name)


def _asks(node: Node) -> tuple[str | None, bool]:
    return node.metadata.annotation(names.DESIRED_DRAIN), node.spec.unschedulable
