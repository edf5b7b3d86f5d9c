"""What the parts of the agent share: the machine, the cluster, and what this process remembers."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from mco.api.machineconfiguration import DisruptionPolicies
from mco.base.errors import MCOError
from mco.daemon import observe
from mco.daemon.configs import Configs
from mco.daemon.metrics import Metrics
from mco.daemon.notify import Notifier
from mco.daemon.pause import Pause
from mco.daemon.report import Reporter
from mco.daemon.worker import Worker
from mco.host.journal import Journal
from mco.host.machine import Host
from mco.kube.client import Client
from mco.plan.node.observation import Annotations, Observation, Verified
from mco.plan.node.target import EMPTY, EMPTY_NAME, Target, target
from mco.runtime.clock import Clock


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """In seconds. `reboot_patience`: how long a reboot may take to happen before it is asked for again;
    `units_check`: how often an idle node looks whether the units of its config still run."""

    first_retry: float = 1.0
    longest_retry: float = 60.0
    policies_retry: float = 1.0
    reboot_patience: float = 600.0
    units_check: float = 30.0


@dataclass
class Memory:
    """What a restart may forget. `started`: a sync of this process has succeeded. `reboot_at`: when the
    machine was asked to reboot, on the monotonic clock. `performing`: the config that is being written.
    `idle`: the config that the node rests on, with the units that it enables."""

    started: bool = False
    verified: Verified | None = None
    policies: DisruptionPolicies | None = None
    overrides: tuple[str, ...] = ()
    policies_since: float | None = None
    reboot_at: float | None = None
    performing: str = ""
    idle: tuple[str, tuple[str, ...]] | None = None
    _pending: tuple[str, float] = field(default=("", 0.0))

    def waited(self, annotations: Annotations, now: float) -> float:
        """Seconds since the drain or uncordon that is pending was seen first."""
        request = annotations.desired_drain if annotations.drain_pending else ""
        if self._pending[0] != request:
            self._pending = (request, now)
        return now - self._pending[1] if request else 0.0

    def look_anew(self) -> None:
        """Whatever a decision rested on may have changed."""
        self.verified = None
        self.policies = None
        self.overrides = ()
        self.policies_since = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """`name` is the Node's."""

    host: Host
    client: Client
    name: str
    clock: Clock
    worker: Worker
    settings: Settings
    notifier: Notifier
    reporter: Reporter
    pause: Pause
    configs: Configs
    journal: Journal
    metrics: Metrics
    memory: Memory = field(default_factory=Memory)

    async def observe(self, annotations: Annotations) -> Observation:
        """Everything that the next step is decided on. Raises HostError when the disk cannot be read."""
        disk = await self.worker(observe.disk, self.host, self.journal)
        memory, now = self.memory, self.clock.monotonic()
        if memory.reboot_at is not None and now - memory.reboot_at > self.settings.reboot_patience:
            memory.reboot_at = None
        return Observation(
            node=annotations,
            disk=disk,
            configs=self.configs.found,
            missing=self.configs.missing,
            unknown=self.configs.unknown,
            policies=memory.policies,
            overrides=memory.overrides,
            verified=memory.verified,
            started=memory.started,
            reboot_requested=memory.reboot_at is not None,
            waited=memory.waited(annotations, now),
            policies_waited=now - memory.policies_since if memory.policies_since is not None else 0.0,
        )

    async def fetch(self, name: str, *, joining: bool) -> None:
        """Raises Unavailable when neither the server nor the disk can give the config."""
        answer = await self.configs.download(self.client, name)
        await self.worker(self.configs.keep, name, answer, joining=joining)

    def target(self, name: str) -> Target:
        """A config that was fetched, parsed. Raises MCOError when it was not."""
        if name == EMPTY_NAME:
            return EMPTY
        found = self.configs.found.get(name)
        if found is None:
            raise MCOError(f"the config {name} is not at hand")
        return target(found)
