"""The daemon's recovery on a directory-rooted host without a cluster: the same decisions, the same journal
and the same actions, driven by a loop that answers for the cluster at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mco.api.machineconfig import MachineConfig
from mco.daemon import leftovers, observe
from mco.daemon.perform import Performer
from mco.host.fake import FakeMachine
from mco.host.journal import Journal
from mco.plan.node import policies, steps
from mco.plan.node.observation import Annotations, Observation, Verified
from mco.plan.node.step import next_step
from mco.plan.node.target import target
from tests.daemon.builders import typed
from tests.daemon.everykind import NEW, NEW_NAME, OLD, OLD_NAME

_STEPS = 60


class Recovery:
    """One node that is OLD or on its way to NEW, and is wanted to be `desired`. `before_step` sees every step
    before it is taken. `reboots` counts those that the daemon asked for."""

    def __init__(
        self,
        machine: FakeMachine,
        desired: str = NEW_NAME,
        *,
        before_step: Callable[[steps.AnyStep], None] = lambda step: None,
    ) -> None:
        self.machine = machine
        self.reboots = 0
        self._raw = {name: msgspec.json.encode(body) for name, body in _BODIES.items()}
        self._configs: Mapping[str, MachineConfig] = {name: typed(body) for name, body in _BODIES.items()}
        self._desired = desired
        self._before_step = before_step
        self._verified: Verified | None = None
        self._journal = Journal(machine.root)

    def run(self) -> steps.AnyStep:
        """Until the node is `desired` (a request to uncordon it) or cannot become it."""
        leftovers.sweep(self.machine.root, self._journal)
        try:
            for _ in range(_STEPS):
                step = next_step(self._observe())
                self._before_step(step)
                if isinstance(step, steps.AskForUncordon | steps.Degrade | steps.Refuse):
                    return step
                self._take(step)
        finally:
            self._journal.close()
        raise AssertionError(f"no end after {_STEPS} steps")

    def _observe(self) -> Observation:
        return Observation(
            node=Annotations(
                current=OLD_NAME,
                desired=self._desired,
                state="Working",
                last_applied_drain=f"drain-{self._desired}",
            ),
            disk=observe.disk(self.machine.host, self._journal),
            configs=self._configs,
            policies=policies.DEFAULT,
            verified=self._verified,
        )

    def _take(self, step: steps.AnyStep) -> None:
        performer = Performer(self.machine.host, self._journal)
        if isinstance(step, steps.Verify):
            before = target(self._configs[step.before]) if step.before else None
            self._verified = observe.verify(self.machine.host, target(self._configs[step.config]), before)
            return
        self._verified = None
        match step:
            case steps.Begin(update=plan, resumed=resumed):
                (performer.resume if resumed else performer.begin)(plan, self._raw[plan.new.name])
            case steps.Undo(because=because, reboot=reboot):
                performer.undo(because, reboot=reboot)
            case steps.Reboot(config=config):
                performer.reboot(config)
                self.reboots += 1
            case steps.Close():
                performer.close()
            case _:
                raise AssertionError(f"the recovery does not expect {step}")


_BODIES: Mapping[str, Any] = {OLD_NAME: OLD, NEW_NAME: NEW}
