"""What a daemon remembers for Prometheus, through all its sessions with the API server."""

from __future__ import annotations

from collections.abc import Iterator

from mco.api.core import Node
from mco.host.machine import Host
from mco.plan.metrics import Family
from mco.plan.node import metrics
from mco.plan.node.observation import view
from mco.runtime.clock import Clock


class Metrics:
    """`families` is what a `runtime.metrics.Page` asks for."""

    def __init__(self, host: Host, clock: Clock) -> None:
        system = host.identity.os_release()
        self._system = (system.id, system.version_id)
        self._clock = clock
        self._told = metrics.Told()
        self._reboots_failed = 0

    def saw(self, node: Node) -> None:
        """The newest view of the node's Node."""
        self._told = metrics.after(self._told, view(node), self._clock.now().timestamp())

    def reboot_failed(self) -> None:
        self._reboots_failed += 1

    def families(self) -> Iterator[Family]:
        return metrics.families(self._told, self._system, self._reboots_failed)
