"""What a MachineConfigNode says of cordon, drain and uncordon (spec/node.md 5.3).

The daemon writes the same list of conditions, several times in an update. What it says itself while a drain
ends at once costs no write here; whatever takes longer, or fails, is told by who knows it.
"""

from __future__ import annotations

import msgspec

from mco.api import resources
from mco.api.core import Node
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta import conditions as cond
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.informer import Informer
from mco.plan import report
from mco.plan.pool import nodes as state
from mco.plan.report import Step
from mco.runtime.clock import Clock, rfc3339

_ATTEMPTS = 5


class DrainReports:
    def __init__(self, client: Client, reports: Informer[MachineConfigNode], clock: Clock) -> None:
        self._client = client
        self._reports = reports
        self._clock = clock

    async def drained(self, node: Node) -> None:
        """To be said as long as the update goes on, whoever was first."""
        if not state.done(node):
            await self._write(node, *report.drained(node.name))

    async def draining(self, node: Node, text: str) -> None:
        cordoned, _ = report.drained(node.name)
        await self._write(node, cordoned, report.executing(report.DRAINED, cond.UNKNOWN, text))

    async def cordon_failed(self, node: Node, text: str) -> None:
        await self._write(node, report.executing(report.CORDONED, cond.UNKNOWN, text))

    async def uncordoned(self, node: Node) -> None:
        """An update that its daemon has finished has taken back all of its conditions."""
        step = _complete(cond.TRUE, f"Uncordoned Node {node.name}")
        await self._write(node, step, unless=report.UPDATED)

    async def uncordon_failed(self, node: Node, text: str) -> None:
        await self._write(node, _complete(cond.UNKNOWN, text))

    async def _write(self, node: Node, *steps: Step, unless: str = "") -> None:
        """Nothing when condition `unless` is True. What was decided on an older list of conditions is
        refused, and decided again."""
        found = self._reports.store.get(node.name)
        for _ in range(_ATTEMPTS):
            if found is None or cond.is_true(found.status.conditions, unless):
                return
            kept = [_keeping_parent(found, step) for step in steps]
            status = report.status_after(found, node, kept, rfc3339(self._clock.now()))
            if status is None:
                return
            body = {"metadata": {"resourceVersion": found.metadata.resource_version}, "status": status}
            try:
                await self._client.patch(
                    resources.MACHINE_CONFIG_NODES, node.name, body, subresource="status"
                )
                return
            except NotFoundError:
                return
            except ConflictError:
                found = await self._live(node.name)

    async def _live(self, name: str) -> MachineConfigNode | None:
        try:
            return await self._client.get(resources.MACHINE_CONFIG_NODES, name)
        except NotFoundError:
            return None


def _keeping_parent(found: MachineConfigNode, step: Step) -> Step:
    """A daemon that has executed the update by now is not contradicted."""
    parent = cond.find(found.status.conditions, step.parent)
    if parent is None or parent.status != cond.TRUE:
        return step
    return msgspec.structs.replace(step, status=parent.status, reason=parent.reason, message=parent.message)


def _complete(status: str, message: str) -> Step:
    return Step(
        parent=report.UPDATE_COMPLETE,
        status=status,
        reason=report.UNCORDONED,
        message=message,
        child=report.UNCORDONED,
        child_status=status,
        child_message=message,
    )
