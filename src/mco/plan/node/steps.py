"""The steps that a node can take, as values. Each says why."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mco.plan.node.actions import AnyAction
from mco.plan.node.diff import Changes
from mco.plan.node.disruption import Disruption
from mco.plan.node.target import Target


class UpdatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a node: both sides, what differs, what to do on the disk and to what runs."""

    old: Target
    new: Target
    changes: Changes
    actions: tuple[AnyAction, ...]
    disruption: Disruption


class Step(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    because: str


class Initialise(Step, frozen=True, kw_only=True):
    """Put the first annotations on the Node."""

    annotations: Mapping[str, str]


class Fetch(Step, frozen=True, kw_only=True):
    """Get these configs, from the server or from the node's own copies."""

    configs: tuple[str, ...]


class FetchPolicies(Step, frozen=True, kw_only=True):
    """Get the cluster's node disruption policies; they may not be computed yet."""


class Verify(Step, frozen=True, kw_only=True):
    """Compare the disk with a config. `before`: the config that an update came from, or nothing."""

    config: str
    before: str = ""


class Wait(Step, frozen=True, kw_only=True):
    """Nothing to do until something outside changes, or `seconds` have passed."""

    seconds: float | None = None


class Settle(Step, frozen=True, kw_only=True):
    """The node is what it shall be."""

    config: str


class AskForDrain(Step, frozen=True, kw_only=True):
    """The update can be made; the pods have to go first."""

    update: UpdatePlan
    request: str


class Begin(Step, frozen=True, kw_only=True):
    """Do the actions; `resumed`: go on with those in the journal."""

    update: UpdatePlan
    resumed: bool = False


class Undo(Step, frozen=True, kw_only=True):
    """Bring back what the update in the journal changed. `reboot`: the machine has run with it."""

    config: str
    reboot: bool


class Reboot(Step, frozen=True, kw_only=True):
    """Ask the machine to reboot into `config`."""

    config: str


class Close(Step, frozen=True, kw_only=True):
    """The update in the journal is complete, or completely undone: the journal is not needed any more."""

    config: str


class Record(Step, frozen=True, kw_only=True):
    """Note that the disk holds `config`; the node has joined."""

    config: str


class AskForUncordon(Step, frozen=True, kw_only=True):
    config: str
    request: str


class Finish(Step, frozen=True, kw_only=True):
    """Report the config as reached."""

    config: str


class Refuse(Step, frozen=True, kw_only=True):
    """This change cannot be made on a running node; `text` is the original's."""

    config: str
    text: str


class Degrade(Step, frozen=True, kw_only=True):
    """Something is wrong; try again later. `event` is the reason of the event to send, or nothing.
    `prepared` False: the update was not begun, because nobody can tell what it would do."""

    text: str
    event: str = ""
    prepared: bool = True


AnyStep = (
    Initialise
    | Fetch
    | FetchPolicies
    | Verify
    | Wait
    | Settle
    | AskForDrain
    | Begin
    | Undo
    | Reboot
    | Close
    | Record
    | AskForUncordon
    | Finish
    | Refuse
    | Degrade
)
