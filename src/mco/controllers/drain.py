"""Answers what a daemon asks before and after an update: cordon and drain, or uncordon (spec/node.md 4).

`reconcile` takes a node's name. It never waits inside: a drain that is not finished comes back after a while,
so that one node's stubborn pod holds up no other node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from mco.api import names, resources
from mco.api.core import Node, Pod
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta import conditions as cond
from mco.kube.client import Client
from mco.kube.errors import APIError, ConflictError, NotFoundError
from mco.kube.events import EventSink
from mco.kube.informer import Informer
from mco.plan import report
from mco.plan.pool import drain
from mco.plan.report import Step
from mco.runtime.clock import Clock, rfc3339

_REPORT_ATTEMPTS = 5


class Delays(msgspec.Struct, frozen=True):
    """Seconds (spec/node.md 4.1). Within an attempt of `attempt`: `evicting` between looks at pods on their
    way out, `refused` before asking again after a refusal. An attempt that did not end in time is followed by
    `blocked`, or `failing` once the drain has been going on for `threshold`; `alert`: when it is worth an
    event of its own."""

    evicting: float = 1.0
    refused: float = 5.0
    attempt: float = 90.0
    blocked: float = 60.0
    failing: float = 300.0
    threshold: float = 600.0
    alert: float = 3600.0


class _Drain(msgspec.Struct):
    """A drain that is going on: its request, and when it and its present attempt began (monotonic)."""

    key: str
    since: float
    attempt: float


class DrainController:
    """`reconcile` takes a node's name; `affected` says whether an event of a node is about draining."""

    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        events: EventSink,
        clock: Clock,
        delays: Delays = Delays(),  # noqa: B008 - immutable
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._events = events
        self._clock = clock
        self._delays = delays
        self._drains: dict[str, _Drain] = {}

    def affected(self, old: Node | None, new: Node | None) -> set[str]:
        if old is not None and new is not None and _asks(old) == _asks(new):
            return set()
        return {node.name for node in (old, new) if node is not None}

    async def reconcile(self, name: str) -> float | None:
        """Returns the seconds after which to look again, None when the request is fulfilled or withdrawn."""
        node = self._nodes.store.get(name)
        request = drain.pending(node) if node is not None else None
        if node is None or request is None:
            self._drains.pop(name, None)
            return None
        if not request.cordon:
            # Told before it is done: the daemon goes on as soon as it is, and has the last word.
            await self._report(node, _uncordoned(node))
            await self._finish(node, request.key, unschedulable=False)
            return None
        if not node.spec.unschedulable:
            await self._cordon(node, request)
            # The node's own event brings the next pass, which sees it cordoned.
            return None
        if name not in self._drains:
            await self._begin(node, request)
        return await self._drain(node, request)

    async def _cordon(self, node: Node, request: drain.DrainRequest) -> None:
        metadata = {"resourceVersion": node.metadata.resource_version}
        body = {"metadata": metadata, "spec": {"unschedulable": True}}
        await self._client.patch(resources.NODES, node.name, body)
        await self._begin(node, request)

    async def _begin(self, node: Node, request: drain.DrainRequest) -> None:
        """A node that somebody uncordoned in between starts anew."""
        now = self._clock.monotonic()
        self._drains[node.name] = _Drain(request.key, now, now)
        await self._report(node, _executing(report.CORDONED, cond.TRUE, f"Cordoned Node {node.name}"))

    async def _drain(self, node: Node, request: drain.DrainRequest) -> float | None:
        """One look at the node's pods; another one follows until all have left."""
        pods = await self._client.list(resources.PODS, field_selector=f"spec.nodeName={node.name}")
        leaving = drain.evictable(pods.items)
        if not leaving:
            await self._report(node, _executing(report.DRAINED, cond.TRUE, f"Drained Node {node.name}"))
            await self._finish(node, request.key, unschedulable=True)
            self._drains.pop(node.name, None)
            return None
        refusals = await self._evict(leaving)
        text = " ".join(("Draining...", "; ".join(refusals))).rstrip()
        await self._report(node, _executing(report.DRAINED, cond.UNKNOWN, text))
        going = self._drains[node.name]
        if self._clock.monotonic() - going.attempt < self._delays.attempt:
            return self._delays.refused if refusals else self._delays.evicting
        still = ", ".join(pod.key for pod in leaving)
        return self._attempt_failed(node, going, "; ".join(refusals) or f"pods do not end: {still}")

    def _attempt_failed(self, node: Node, going: _Drain, text: str) -> float:
        """What it tells depends on how long the drain had been going on when the attempt began."""
        elapsed = going.attempt - going.since
        pause = self._delays.blocked
        if elapsed > self._delays.alert:
            self._events.event(node, "Warning", "DrainFailed", f"failed to drain node {node.name}: {text}")
        if elapsed > self._delays.threshold:
            pause = self._delays.failing
            self._events.event(node, "Warning", "DrainThresholdExceeded", f"{node.name}: {text}")
        going.attempt = self._clock.monotonic() + pause
        return pause

    async def _evict(self, pods: Sequence[Pod]) -> list[str]:
        """Asks every pod to go; returns a sentence for each that may not, or cannot."""
        answers = await asyncio.gather(*(self._evict_one(pod) for pod in pods))
        return [answer for answer in answers if answer]

    async def _evict_one(self, pod: Pod) -> str | None:
        if pod.metadata.deletion_timestamp:
            return None
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.metadata.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.metadata.uid}},
        }
        path = resources.PODS.path(pod.name, namespace=pod.metadata.namespace, subresource="eviction")
        try:
            await self._client.request("POST", path, body=body)
        except NotFoundError:
            return None
        except APIError as error:
            return f"pod {pod.key}: {error}"
        return None

    async def _finish(self, node: Node, key: str, *, unschedulable: bool) -> None:
        """Says that the request is fulfilled, unless somebody changed the node since it was looked at."""
        body = {
            "metadata": {
                "resourceVersion": node.metadata.resource_version,
                "annotations": {names.LAST_APPLIED_DRAIN: key},
            },
            "spec": {"unschedulable": True if unschedulable else None},
        }
        await self._client.patch(resources.NODES, node.name, body)

    async def _report(self, node: Node, step: Step) -> None:
        """Writes a step of the update into the node's MachineConfigNode, if it has one. The daemon writes the
        same list of conditions: what was decided on an older list is refused, and decided again."""
        for _ in range(_REPORT_ATTEMPTS):
            try:
                found: MachineConfigNode = await self._client.get(resources.MACHINE_CONFIG_NODES, node.name)
                status = report.status_patch(found, node, step, rfc3339(self._clock.now()))
                if status:
                    version = {"resourceVersion": found.metadata.resource_version}
                    body = {"metadata": version, "status": status}
                    await self._client.patch(
                        resources.MACHINE_CONFIG_NODES, node.name, body, subresource="status"
                    )
                return
            except NotFoundError:
                return
            except ConflictError:
                continue


def _asks(node: Node) -> tuple[str | None, bool]:
    return node.metadata.annotation(names.DESIRED_DRAIN), node.spec.unschedulable


def _executing(child: str, status: str, message: str) -> Step:
    """Cordon and drain are children of an update that has not been executed yet (spec/node.md 5.3)."""
    return Step(
        parent=report.UPDATE_EXECUTED,
        status=cond.UNKNOWN,
        reason=child,
        message=message,
        child=child,
        child_status=status,
        child_message=message,
    )


def _uncordoned(node: Node) -> Step:
    text = f"Uncordoned Node {node.name}"
    return Step(
        parent=report.UPDATE_COMPLETE,
        reason=report.UNCORDONED,
        message=text,
        child=report.UNCORDONED,
        child_message=text,
    )
