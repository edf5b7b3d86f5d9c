"""How the sync functions of one pass ended (spec/operator.md 1.2)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

RENDER_CONFIG = "RenderConfig"
MACHINE_CONFIGURATION = "MachineConfiguration"
MACHINE_CONFIG_NODE = "MachineConfigNode"
MACHINE_CONFIG_POOLS = "MachineConfigPools"
NETWORK_POLICIES = "NetworkPolicies"
MACHINE_CONFIG_DAEMON = "MachineConfigDaemon"
MACHINE_CONFIG_CONTROLLER = "MachineConfigController"
MACHINE_CONFIG_SERVER = "MachineConfigServer"
REQUIRED_POOLS = "RequiredPools"


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that is closed. `message`: what for; `during`: what the original calls the wait; `patience`:
    seconds that it may stay closed before that is an error, None for ever; `look_again`: seconds until the
    next look where no event tells of a change."""

    message: str
    during: str
    patience: float | None = None
    look_again: float | None = None

    @property
    def error(self) -> str:
        return f"error during {self.during}: [context deadline exceeded, {self.message}]"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`error`: why it failed. `waiting`: what it waits for. Neither: it is done."""

    step: str
    error: str = ""
    waiting: str = ""

    @property
    def done(self) -> bool:
        return not self.error and not self.waiting


def failed(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The first that failed: the others went on all the same, but one reason is what a condition holds."""
    return next((outcome for outcome in outcomes if outcome.error), None)


def complete(outcomes: Sequence[Outcome]) -> bool:
    return all(outcome.done for outcome in outcomes)
