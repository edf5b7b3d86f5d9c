"""Writes into the MachineConfigNodes why their nodes do not move yet (design.md 6, explanations).

Beside the passes over a pool, and later: a rollout never waits for its explanations, and a wait that is over
at once needs none. What a node that moves was told is taken back by its daemon, whose first report of an
update resets all conditions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from mco.api import resources
from mco.api.machineconfignode import MachineConfigNode
from mco.api.meta.objects import older
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.informer import Informer
from mco.plan.pool import waiting
from mco.plan.pool.nodes import Standing
from mco.plan.pool.waiting import Why
from mco.runtime.clock import Clock, rfc3339

_PARALLEL_WRITES = 8
_AGAIN = 1.0


class Waits(msgspec.Struct, frozen=True):
    """What a pass found out about a pool's nodes."""

    waiting: Mapping[str, Why]
    members: Mapping[str, Standing]

    def told(self, name: str) -> bool:
        """Whether the node's report is to be written here, if only to take back what it said before. One
        that is on its way hears from its daemon."""
        member = self.members.get(name)
        return name in self.waiting or (member is not None and (member.done or member.degraded))


class Explainer:
    """`reconcile` takes a pool's name and writes what `tell` was told of it last."""

    def __init__(self, client: Client, reports: Informer[MachineConfigNode], clock: Clock) -> None:
        self._client = client
        self._reports = reports
        self._clock = clock
        self._told: dict[str, Waits] = {}
        self._said: dict[str, tuple[MachineConfigNode, tuple[str, str] | None]] = {}
        self._writes = asyncio.Semaphore(_PARALLEL_WRITES)

    def tell(self, pool: str, waits: Waits) -> None:
        self._told[pool] = waits

    def forget(self, name: str) -> None:
        """The node's report is gone."""
        self._said.pop(name, None)

    async def reconcile(self, pool: str) -> float | None:
        """Comes back for reports that their daemons wrote at the same time."""
        waits = self._told.get(pool)
        if waits is None:
            return None
        wrong = [name for name in waits.members if self._wrong(name, waits)]
        written = await asyncio.gather(*(self._write(pool, name) for name in wrong))
        return None if all(written) else _AGAIN

    def _wrong(self, name: str, waits: Waits) -> bool:
        report = self._reports.store.get(name)
        if report is None or not waits.told(name):
            return False
        why = waits.waiting.get(name)
        return self._says(report) != ((why.reason, why.lasting) if why else None)

    def _says(self, report: MachineConfigNode) -> tuple[str, str] | None:
        """Looked up once for each version of a report, or in what was written since."""
        known = self._said.get(report.name)
        if known is None or (report is not known[0] and not older(report, known[0])):
            known = self._said[report.name] = report, waiting.said(report)
        return known[1]

    async def _write(self, pool: str, name: str) -> bool:
        """Whether the report says what was told last, which may be news since this one had to wait."""
        async with self._writes:
            report, waits = self._reports.store.get(name), self._told[pool]
            if report is None or not self._wrong(name, waits):
                return True
            body = waiting.status_patch(report, waits.waiting.get(name), rfc3339(self._clock.now()))
            try:
                answer = await self._client.patch(
                    resources.MACHINE_CONFIG_NODES, name, body, subresource="status"
                )
            except NotFoundError:
                return True
            except ConflictError:
                return False
            self._said[name] = answer, waiting.said(answer)
            return True
