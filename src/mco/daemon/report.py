"""What the cluster hears of this node: annotations of the Node, its MachineConfigNode, events.

Changes are staged while a step is taken and written together: one patch of the Node, one of the
MachineConfigNode's status, each only when something differs. What the Node does not know of its machine goes
along: writers of a Node's status may annotate it. A MachineConfigNode that cannot be written is
logged and tried again with the next change; the Node's annotations are the protocol and must get through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta.objects import older
from mco.api.resources import MACHINE_CONFIG_NODES, NODES
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import ConflictError
from mco.kube.events import EventSink
from mco.plan import report as plan
from mco.runtime.clock import Clock, rfc3339
from mco.runtime.logging import Logger

_log = Logger("mco.daemon.report")

_ATTEMPTS = 4


class Reporter:
    """`node` and `mcn` are the newest views that were seen, by watching or from the answer to a patch.
    `news`: the status that a Node lacks, None when it lacks nothing. `told` is given each view of the
    Node."""

    def __init__(
        self, client: Client, events: EventSink, clock: Clock, told: Callable[[Node], None] = lambda _: None
    ) -> None:
        self._client = client
        self._events = events
        self._clock = clock
        self._told = told
        self.node: Node | None = None
        self.mcn: MachineConfigNode | None = None
        self.news: Callable[[Node], dict[str, Any] | None] = lambda _: None
        self._annotations: dict[str, str | None] = {}
        self._steps: list[plan.Step] = []
        self._said: dict[str, str] = {}

    # What comes in

    def saw_node(self, node: Node | None) -> bool:
        """Takes a view from the watch; False when it is older than what is known."""
        if node is not None and self.node is not None and older(node, self.node):
            return False
        self.node = node
        if node is not None:
            self._told(node)
        return True

    def saw_mcn(self, mcn: MachineConfigNode | None) -> bool:
        if mcn is not None and self.mcn is not None and older(mcn, self.mcn):
            return False
        self.mcn = mcn
        return True

    # What goes out

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """To be set with the next flush; None removes a key."""
        self._annotations.update(annotations)

    def step(self, step: plan.Step | None) -> None:
        """The same step, staged before and not written yet, only moves: a node whose MachineConfigNode nobody
        has made says the same again and again."""
        if step is not None:
            self._steps = [*(staged for staged in self._steps if staged != step), step]

    def event(self, type_: str, reason: str, message: str) -> None:
        if self.node is not None:
            self._events.event(self.node, type_, reason, message)

    def event_once(self, type_: str, reason: str, message: str) -> None:
        """Nothing when this was the last thing said with that reason."""
        if self._said.get(reason) != message:
            self._said[reason] = message
            self.event(type_, reason, message)

    async def flush(self) -> None:
        """Raises what the client raises for the Node."""
        try:
            await self._flush_mcn()
        except MCOError as error:
            _log.warning("MachineConfigNode not written", error=str(error))
        await self._flush_node()

    async def _flush_node(self) -> None:
        node = self.node
        if node is None:
            return
        have = node.metadata.annotations or {}
        body: dict[str, Any] = {}
        if patch := {key: value for key, value in self._annotations.items() if have.get(key) != value}:
            body["metadata"] = {"annotations": patch}
        if status := self.news(node):
            body["status"] = status
        if body:
            part = "status" if status else ""
            self.saw_node(await self._client.patch(NODES, node.name, body, subresource=part))
        self._annotations.clear()

    async def _flush_mcn(self) -> None:
        """The drain controller writes the same list of conditions: a write that was decided on an older list
        is refused by the server, and decided again."""
        for _ in range(_ATTEMPTS):
            mcn, node = self.mcn, self._staged_node()
            if mcn is None or node is None or not self._steps:
                return
            patch = plan.status_after(mcn, node, self._steps, rfc3339(self._clock.now()))
            if patch is None:
                break
            body = {"metadata": {"resourceVersion": mcn.metadata.resource_version}, "status": patch}
            try:
                self.saw_mcn(
                    await self._client.patch(MACHINE_CONFIG_NODES, mcn.name, body, subresource="status")
                )
                break
            except ConflictError:
                self.mcn = await self._client.get(MACHINE_CONFIG_NODES, mcn.name)
        self._steps.clear()

    def _staged_node(self) -> Node | None:
        """The Node as it will be after the flush: a status must name the config that is about to be set."""
        if self.node is None or not self._annotations:
            return self.node
        merged = {**(self.node.metadata.annotations or {}), **self._annotations}
        kept = {key: value for key, value in merged.items() if value is not None}
        metadata = msgspec.structs.replace(self.node.metadata, annotations=kept)
        return msgspec.structs.replace(self.node, metadata=metadata)
