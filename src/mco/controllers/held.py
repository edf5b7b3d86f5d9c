"""Nodes that the operator holds (spec/operator.md 0.1, d): one by one, by an annotation of their
MachineConfigNode, or all but the control plane's for a while, by a condition of the MachineConfiguration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mco.api import names
from mco.api.machineconfignode import UPDATE_HOLD, MachineConfigNode
from mco.api.machineconfiguration import MachineConfiguration
from mco.api.meta import conditions as cond
from mco.plan.installation import holds
from mco.plan.pool import waiting
from mco.plan.pool.waiting import Why
from mco.runtime.clock import Clock

_CONTROL_PLANE = (names.MASTER, names.ARBITER)


class Held:
    """Told of every change, so that a pass over a pool costs a look-up and no search."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nodes: dict[str, Why] = {}
        self._settings: MachineConfiguration | None = None

    def report_changed(self, old: MachineConfigNode | None, new: MachineConfigNode | None) -> None:
        report = new or old
        if report is None:
            return
        text = report.metadata.annotation(UPDATE_HOLD) if new else None
        if text:
            self._nodes[report.name] = waiting.held(text)
        else:
            self._nodes.pop(report.name, None)

    def settings_changed(self, _: MachineConfiguration | None, new: MachineConfiguration | None) -> None:
        self._settings = new

    def of(self, pool: str, members: Iterable[str]) -> Mapping[str, Why]:
        """Why nodes of `pool` may not move."""
        if not self.remaining() or pool in _CONTROL_PLANE:
            return self._nodes
        condition = self._condition()
        assert condition is not None
        return dict.fromkeys(members, waiting.held(condition.message)) | self._nodes

    def remaining(self) -> float:
        """Seconds for which the whole fleet is held."""
        return holds.remaining(self._condition(), self._clock.now())

    def _condition(self) -> cond.Condition | None:
        return cond.find(self._settings.status.conditions, holds.UPDATES_HELD) if self._settings else None
