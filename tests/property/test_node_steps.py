"""The law of the node's steps: whatever happens to a node on its way (new targets, crashes, losses of
power, actions that fail), once it is left alone it ends at its desired config, seen to be there, with an
empty journal, and it was not rebooted for nothing.

The machine here is a few values: what its disk holds, what its kernel was booted with, and the journal. An
update is whole, stopped in the middle, or failed and undone.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from mco.api import names
from mco.plan.node import steps
from mco.plan.node.disruption import PostAction
from mco.plan.node.observation import Annotations, Disk, Observation, Phase, Transaction, Verified
from mco.plan.node.policies import DEFAULT, REBOOT
from mco.plan.node.step import next_step
from mco.plan.node.verify import ARGUMENTS, FILE, Finding
from tests.daemon.builders import config, file, typed

CONFIGS = {
    body["metadata"]["name"]: typed(body)
    for body in (
        config("a"),
        config("b", files=[file("/etc/b", "b")], arguments=["b=1"]),
        config("c", files=[file("/etc/c", "c")]),
        config("d", keys=["ssh-ed25519 AAAA d"]),
        config("e", arguments=["e=1"]),
    )
}
FIRST = "rendered-worker-a"
HALF = "half"
"""What a disk holds in the middle of an update."""

_EVENTS = st.one_of(
    st.tuples(st.just("target"), st.sampled_from(sorted(CONFIGS))),
    st.just(("crash", "")),
    st.just(("power", "")),
    st.just(("fail", "")),
    st.just(("stop", "")),
)


class Machine:
    """One node and what a cluster does with it."""

    def __init__(self) -> None:
        self.node = Annotations(current=FIRST, desired=FIRST, state=names.STATE_DONE)
        self.disk_holds, self.recorded, self.booted_with = FIRST, FIRST, FIRST
        self.boot, self.reboots, self.power_losses = 1, 0, 0
        self.journal: Transaction | None = None
        self.next_update = "whole"
        self.restart()

    def restart(self) -> None:
        self.configs: dict[str, Any] = {}
        self.policies = False
        self.verified: Verified | None = None
        self.started = False
        self.about_to_reboot = False

    def power(self) -> None:
        self.boot += 1
        self.booted_with = self.recorded if self.disk_holds == HALF else self.disk_holds
        if self.journal is not None:
            self.journal = msgspec.structs.replace(self.journal, ran=True)
        self.restart()

    def happens(self, what: str, value: str) -> None:
        match what:
            case "target":
                self.node = msgspec.structs.replace(self.node, desired=value)
            case "crash":
                self.restart()
            case "power":
                self.power_losses += 1
                self.power()
            case "fail" | "stop":
                self.next_update = what

    def see(self) -> Observation:
        return Observation(
            node=self.node,
            disk=Disk(boot_id=str(self.boot), recorded=self.recorded, transaction=self.journal),
            configs=self.configs,
            policies=DEFAULT if self.policies else None,
            verified=self.verified,
            started=self.started,
            reboot_requested=self.about_to_reboot,
        )

    def annotate(self, **values: str) -> None:
        self.node = msgspec.structs.replace(self.node, **values)

    def take(self, step: steps.AnyStep) -> bool:
        """Whether the node has come to rest."""
        match step:
            case steps.Fetch(configs=wanted):
                self.configs |= {name: CONFIGS[name] for name in wanted}
            case steps.FetchPolicies():
                self.policies = True
            case steps.Verify(config=name):
                self.verified = Verified(name, self.compare(name))
            case steps.AskForDrain(request=request) | steps.AskForUncordon(request=request):
                self.annotate(desired_drain=request)
            case steps.Wait():
                if self.about_to_reboot:
                    self.reboots += 1
                    self.power()
                else:
                    assert self.node.drain_pending, step
                    self.annotate(last_applied_drain=self.node.desired_drain)
            case steps.Begin(update=plan):
                self.update(plan)
            case steps.Undo(reboot=reboot):
                self.undo(reboot)
            case steps.Reboot():
                assert self.journal is not None
                self.journal = msgspec.structs.replace(
                    self.journal, boot_id=str(self.boot), reboots=self.journal.reboots + 1
                )
                self.about_to_reboot = True
            case steps.Close():
                self.journal = None
            case steps.Finish(config=name):
                self.annotate(current=name, state=names.STATE_DONE)
            case steps.Settle():
                self.started = True
                return True
            case steps.Degrade() | steps.Refuse():
                raise AssertionError(f"nothing is wrong with this node: {step}")
            case _:
                raise AssertionError(step)
        return False

    def compare(self, name: str) -> tuple[Finding, ...]:
        wanted = CONFIGS[name].spec.kernel_arguments or ()
        running = CONFIGS[self.booted_with].spec.kernel_arguments or ()
        found = []
        if wanted != running:
            found.append(Finding(ARGUMENTS, "", "other arguments run"))
        if self.disk_holds != name:
            found.append(Finding(FILE, "", f"the disk holds {self.disk_holds}"))
        return tuple(found)

    def update(self, plan: steps.UpdatePlan) -> None:
        how, self.next_update = self.next_update, "whole"
        self.verified = None
        self.annotate(state=names.STATE_WORKING)
        begun = self.journal or Transaction(
            old=plan.old.name,
            new=plan.new.name,
            phase=Phase.APPLYING,
            boot_id=str(self.boot),
            light=plan.changes.only_kernel_arguments,
            post_actions=plan.disruption.actions,
        )
        if how == "fail":
            self.journal = begun
            self.undo(reboot=False)
            self.annotate(state=names.STATE_DEGRADED)
            return
        if how == "stop":
            self.journal, self.disk_holds = begun, HALF
            return
        self.disk_holds = self.recorded = plan.new.name
        phase = Phase.REBOOTING if PostAction(REBOOT) in begun.post_actions else Phase.PERFORMED
        self.journal = msgspec.structs.replace(begun, phase=phase, boot_id=str(self.boot), reboots=0)

    def undo(self, reboot: bool) -> None:
        assert self.journal is not None
        self.verified = None
        self.disk_holds = self.recorded = self.journal.old
        undone = msgspec.structs.replace(self.journal, phase=Phase.UNDONE, boot_id=str(self.boot), reboots=0)
        self.journal = undone if reboot else None


@given(st.lists(st.tuples(st.integers(0, 12), _EVENTS), max_size=8))
def test_a_node_that_is_left_alone_arrives(history: list[tuple[int, tuple[str, str]]]) -> None:
    machine = Machine()
    for quiet_steps, (what, value) in history:
        for _ in range(quiet_steps):
            machine.take(next_step(machine.see()))
        machine.happens(what, value)
    machine.next_update = "whole"
    for _ in range(60):
        if machine.take(next_step(machine.see())):
            break
    else:
        raise AssertionError(f"no rest after 60 steps: {next_step(machine.see())}")
    assert machine.node.current == machine.node.desired == machine.disk_holds == machine.recorded
    assert machine.journal is None
    assert not machine.compare(machine.node.desired)
    event(f"reboots: {machine.reboots}")


@given(st.sampled_from(sorted(CONFIGS)), st.sampled_from(["whole", "fail", "stop"]), st.integers(0, 20))
def test_one_update_reboots_at_most_once(new: str, how: str, crash_after: int) -> None:
    """A failure or a crash of the daemon costs none; only an update that needs it reboots."""
    machine = Machine()
    machine.next_update = how
    machine.happens("target", new)
    for count in range(80):
        if count == crash_after:
            machine.happens("crash", "")
        if machine.take(next_step(machine.see())) and count > crash_after:
            break
    needed = new not in (FIRST, "rendered-worker-d")
    assert machine.reboots == (1 if needed else 0)
    assert machine.node.current == new


@given(st.integers(0, 20))
def test_a_withdrawn_update_never_reboots_before_it_rebooted(steps_before: int) -> None:
    machine = Machine()
    machine.happens("target", "rendered-worker-b")
    for _ in range(steps_before):
        if machine.reboots or machine.about_to_reboot:
            break
        machine.take(next_step(machine.see()))
    gone_too_far = machine.reboots or machine.about_to_reboot
    machine.happens("target", FIRST)
    for _ in range(60):
        if machine.take(next_step(machine.see())):
            break
    assert machine.node.current == FIRST
    assert gone_too_far or machine.reboots == 0
