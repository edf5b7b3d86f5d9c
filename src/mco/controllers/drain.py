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
from mco.kube.errors import APIError, NotFoundError
from mco.kube.events import Recorder
from mco.kube.informer import Informer
from mco.plan import report
from mco.plan.pool import drain
from mco.plan.report import Step
from mco.runtime.clock import Clock, rfc3339


class Delays(msgspec.Struct, frozen=True):
    """Seconds (spec/node.md 4.1): `evicting` while pods are on their way out, `blocked` after a refused
    eviction, `failing` in its place once a drain has been going on for `threshold`; `alert`: when it is worth
    an event."""

    evicting: float = 1.0
    blocked: float = 60.0
    failing: float = 300.0
    threshold: float = 600.0
    alert: float = 3600.0


class DrainController:
    def __init__(
        self,
        client: Client,
        nodes: Informer[Node],
        recorder: Recorder,
        clock: Clock,
        delays: Delays = Delays(),  # noqa: B008 - immutable
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._recorder = recorder
        self._clock = clock
        self._delays = delays
        self._since: dict[str, float] = {}

    async def reconcile(self, name: str) -> float | None:
        """Returns the seconds after which to look again, None when the request is fulfilled or withdrawn."""
        node = self._nodes.store.get(name)
        request = drain.pending(node) if node is not None else None
        if node is None or request is None:
            self._since.pop(name, None)
            return None
        if not request.cordon:
            await self._finish(node, request.key, unschedulable=False)
            await self._report(node, _uncordoned(node))
            return None
        if not node.spec.unschedulable:
            await self._client.patch(resources.NODES, name, {"spec": {"unschedulable": True}})
            await self._report(node, _executing(report.CORDONED, cond.TRUE, f"Cordoned Node {name}"))
            self._since[name] = self._clock.monotonic()
            # The node's own event brings the next pass, which sees it cordoned.
            return None
        return await self._drain(node, request)

    async def _drain(self, node: Node, request: drain.DrainRequest) -> float | None:
        since = self._since.setdefault(node.name, self._clock.monotonic())
        elapsed = self._clock.monotonic() - since
        pods = await self._client.list(resources.PODS, field_selector=f"spec.nodeName={node.name}")
        leaving = drain.evictable(pods.items)
        if not leaving:
            await self._report(node, _executing(report.DRAINED, cond.TRUE, f"Drained Node {node.name}"))
            await self._finish(node, request.key, unschedulable=True)
            self._since.pop(node.name, None)
            return None
        refusals = await self._evict(leaving)
        if not refusals:
            return self._delays.evicting
        text = "; ".join(refusals)
        await self._report(node, _executing(report.DRAINED, cond.UNKNOWN, f"Draining... {text}"))
        if elapsed > self._delays.alert:
            self._recorder.event(node, "Warning", "DrainFailed", f"failed to drain node {node.name}: {text}")
        elif elapsed > self._delays.threshold:
            self._recorder.event(node, "Warning", "DrainThresholdExceeded", f"{node.name}: {text}")
        return self._delays.failing if elapsed > self._delays.threshold else self._delays.blocked

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
        """Writes a step of the update into the node's MachineConfigNode, if it has one."""
        try:
            found: MachineConfigNode = await self._client.get(resources.MACHINE_CONFIG_NODES, node.name)
        except NotFoundError:
            return
        status = report.status_patch(found, node, step, rfc3339(self._clock.now()))
        if status:
            body = {"status": status}
            await self._client.patch(resources.MACHINE_CONFIG_NODES, node.name, body, subresource="status")


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
