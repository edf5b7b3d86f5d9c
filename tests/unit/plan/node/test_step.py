"""Single decisions of the node's step machine (spec/daemon.md 3.3, 4, 5, 13, 15.2)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from mco.api import names
from mco.api.machineconfiguration import DisruptionPolicies
from mco.plan.node import steps
from mco.plan.node.disruption import PostAction
from mco.plan.node.observation import Annotations, Disk, Observation, Phase, Transaction, Verified
from mco.plan.node.policies import DEFAULT
from mco.plan.node.step import next_step
from mco.plan.node.target import EMPTY_NAME
from mco.plan.node.verify import ARGUMENTS, FILE, Finding
from tests.daemon.builders import config, file, typed

A, B = "rendered-worker-a", "rendered-worker-b"
CONFIGS = {A: typed(config("a")), B: typed(config("b", files=[file("/etc/b", "b")]))}
REBOOT, NONE = PostAction("Reboot"), PostAction("None")


def seen(
    current: str = A,
    desired: str = A,
    *,
    state: str = "Done",
    drain: tuple[str, str] = ("", ""),
    verified: str | None = None,
    findings: tuple[Finding, ...] = (),
    node: dict[str, Any] | None = None,
    disk: dict[str, Any] | None = None,
    **more: Any,
) -> Observation:
    """`drain` is desired and last applied; `verified` the config that the disk was compared with."""
    annotations: dict[str, Any] = {
        "current": current,
        "desired": desired,
        "state": state,
        "desired_drain": drain[0],
        "last_applied_drain": drain[1],
    }
    fields: dict[str, Any] = {"configs": CONFIGS, "policies": DEFAULT, "started": True}
    return Observation(
        node=Annotations(**(annotations | (node or {}))),
        disk=Disk(**({"boot_id": "1", "recorded": current} | (disk or {}))),
        verified=Verified(verified, findings) if verified else None,
        **(fields | more),
    )


def journal(phase: Phase, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"old": A, "new": B, "boot_id": "1", "post_actions": (REBOOT,)}
    return {"transaction": Transaction(phase=phase, **(fields | more)), "recorded": A}


def degraded(observation: Observation) -> steps.Degrade:
    step = next_step(observation)
    assert isinstance(step, steps.Degrade), step
    return step


class TestPreparing:
    """The disk's note wins over the annotation; a state that is not Done means a pass (15.2)."""

    @pytest.mark.parametrize(
        ("recorded", "current", "desired", "state", "old"),
        [
            (A, A, B, "Done", A),
            (B, A, A, "Done", B),
            ("", A, B, "Done", A),
        ],
    )
    def test_the_old_side(self, recorded: str, current: str, desired: str, state: str, old: str) -> None:
        step = next_step(seen(current, desired, state=state, verified=old, disk={"recorded": recorded}))
        assert isinstance(step, steps.Begin | steps.AskForDrain)
        assert (step.update.old.name, step.update.new.name) == (old, desired)

    def test_everything_equal_and_done_is_at_rest(self) -> None:
        assert isinstance(next_step(seen()), steps.Settle)

    @pytest.mark.parametrize("state", ["", "Working", "Degraded", "Unreconcilable"])
    def test_another_state_is_looked_into(self, state: str) -> None:
        step = next_step(seen(state=state))
        assert isinstance(step, steps.Verify)
        assert step.config == A

    def test_and_healed_without_a_write(self) -> None:
        step = next_step(seen(state="Degraded", verified=A, drain=(f"uncordon-{A}",) * 2))
        assert isinstance(step, steps.Finish)


class TestFirstSync:
    def test_the_served_annotations_come_first(self) -> None:
        initial = {names.CURRENT_CONFIG: A, names.DESIRED_CONFIG: A, names.STATE: "Done"}
        step = next_step(seen("", "", state="", disk={"initial": initial, "recorded": ""}))
        assert isinstance(step, steps.Initialise)
        assert step.annotations == initial

    def test_what_the_cluster_wants_meanwhile_stays(self) -> None:
        initial = {names.CURRENT_CONFIG: A, names.DESIRED_CONFIG: A}
        step = next_step(seen("", B, state="", disk={"initial": initial, "recorded": ""}))
        assert isinstance(step, steps.Initialise)
        assert step.annotations == {names.CURRENT_CONFIG: A}

    def test_without_them_the_disks_note_counts(self) -> None:
        step = next_step(seen("", "", state="", disk={"recorded": A}))
        assert isinstance(step, steps.Initialise)
        assert step.annotations[names.CURRENT_CONFIG] == A

    def test_a_node_that_nobody_served_has_the_empty_config(self) -> None:
        step = next_step(seen("", "", state="", disk={"recorded": ""}))
        assert isinstance(step, steps.Initialise)
        assert step.annotations[names.CURRENT_CONFIG] == step.annotations[names.DESIRED_CONFIG] == EMPTY_NAME
        assert step.annotations[names.STATE] == "Done"

    def test_and_is_left_as_its_owner_had_it(self) -> None:
        answered = (f"uncordon-{EMPTY_NAME}",) * 2
        step = next_step(
            seen(EMPTY_NAME, EMPTY_NAME, verified=EMPTY_NAME, drain=answered, disk={"recorded": ""})
        )
        assert isinstance(step, steps.Settle)

    def test_what_a_pool_wants_of_it_meanwhile_stays(self) -> None:
        step = next_step(seen("", B, state="", disk={"recorded": ""}))
        assert isinstance(step, steps.Initialise)
        assert names.DESIRED_CONFIG not in step.annotations

    def test_and_it_starts_from_there(self) -> None:
        step = next_step(seen(EMPTY_NAME, B, verified=EMPTY_NAME, disk={"recorded": ""}))
        assert isinstance(step, steps.AskForDrain)
        assert step.update.old.name == EMPTY_NAME

    def test_joining_verifies_before_it_counts(self) -> None:
        initial = {names.CURRENT_CONFIG: A}
        step = next_step(seen(started=False, disk={"initial": initial, "recorded": ""}))
        assert isinstance(step, steps.Verify)
        step = next_step(seen(started=False, verified=A, disk={"initial": initial, "recorded": ""}))
        assert isinstance(step, steps.Record)

    def test_a_disk_that_differs_degrades(self) -> None:
        finding = Finding(FILE, "/etc/b", 'content mismatch for file "/etc/b"')
        step = degraded(seen(started=False, verified=A, findings=(finding,)))
        assert step.event == "OnDiskStateValidationFailed"
        assert step.text == f"unexpected on-disk state validating against {A}: {finding.message}"

    def test_before_an_update_it_is_the_preflight_that_fails(self) -> None:
        finding = Finding(FILE, "/etc/b", 'content mismatch for file "/etc/b"')
        step = degraded(seen(desired=B, verified=A, findings=(finding,)))
        assert step.event == "PreflightConfigDriftCheckFailed"

    def test_a_missing_config_degrades_with_the_servers_words(self) -> None:
        text = f'machineconfigs.machineconfiguration.openshift.io "{B}" not found'
        step = degraded(seen(desired=B, verified=A, configs={A: CONFIGS[A]}, missing={B: text}))
        assert step.text == text


class TestDrain:
    def test_is_asked_for_once(self) -> None:
        step = next_step(seen(desired=B, verified=A))
        assert isinstance(step, steps.AskForDrain)
        assert step.request == f"drain-{B}"

    def test_is_waited_for(self) -> None:
        assert isinstance(next_step(seen(desired=B, verified=A, drain=(f"drain-{B}", ""))), steps.Wait)

    def test_of_another_target_is_not_waited_for(self) -> None:
        step = next_step(seen(desired=B, verified=A, drain=("drain-rendered-worker-x", "")))
        assert isinstance(step, steps.AskForDrain)

    def test_of_a_withdrawn_target_ends_with_an_uncordon(self) -> None:
        step = next_step(seen(state="Working", verified=A, drain=(f"drain-{B}", "")))
        assert isinstance(step, steps.AskForUncordon)

    def test_too_long_degrades(self) -> None:
        step = degraded(seen(desired=B, verified=A, drain=(f"drain-{B}", ""), waited=3601.0))
        assert step.event == "FailedToDrain"

    def test_done_begins(self) -> None:
        assert isinstance(next_step(seen(desired=B, verified=A, drain=(f"drain-{B}",) * 2)), steps.Begin)

    def test_is_skipped_where_there_is_one_replica(self) -> None:
        step = next_step(seen(desired=B, verified=A, node={"topology": "SingleReplica"}))
        assert isinstance(step, steps.Begin)

    def test_uncordon_too_long_degrades(self) -> None:
        waiting = (f"uncordon-{A}", "")
        step = degraded(seen(state="Working", verified=A, drain=waiting, waited=601.0))
        assert step.event == "FailedToUncordon"


class TestPolicies:
    def test_are_fetched_before_anything_is_decided(self) -> None:
        assert isinstance(next_step(seen(desired=B, verified=A, policies=None)), steps.FetchPolicies)

    def test_are_not_waited_for_for_ever(self) -> None:
        step = degraded(seen(desired=B, verified=A, policies=None, policies_waited=121.0))
        assert "node disruption policies are not ready" in step.text
        assert not step.prepared, "nobody knows what the update would do"

    def test_decide_about_the_drain(self) -> None:
        policies = DisruptionPolicies()
        assert isinstance(next_step(seen(desired=B, verified=A, policies=policies)), steps.AskForDrain)


class TestJournal:
    def test_an_interrupted_update_goes_on(self) -> None:
        step = next_step(seen(desired=B, disk=journal(Phase.APPLYING)))
        assert isinstance(step, steps.Begin)
        assert step.resumed
        assert step.update.disruption.actions == (REBOOT,)

    def test_one_that_is_not_wanted_goes_back(self) -> None:
        step = next_step(seen(disk=journal(Phase.APPLYING)))
        assert isinstance(step, steps.Undo)
        assert not step.reboot

    def test_one_whose_config_is_lost_goes_back(self) -> None:
        step = next_step(
            seen(desired=B, configs={A: CONFIGS[A]}, missing={B: "gone"}, disk=journal(Phase.APPLYING))
        )
        assert isinstance(step, steps.Undo)

    def test_undoing_goes_on_whatever_is_wanted(self) -> None:
        assert isinstance(next_step(seen(desired=B, disk=journal(Phase.UNDOING))), steps.Undo)

    def test_the_reboot_is_asked_for(self) -> None:
        step = next_step(seen(desired=B, disk=journal(Phase.REBOOTING)))
        assert isinstance(step, steps.Reboot)

    def test_and_waited_for(self) -> None:
        step = next_step(seen(desired=B, disk=journal(Phase.REBOOTING), reboot_requested=True))
        assert isinstance(step, steps.Wait)

    def test_a_reboot_that_does_not_happen_degrades_after_three_requests(self) -> None:
        step = degraded(seen(desired=B, disk=journal(Phase.REBOOTING, reboots=3)))
        assert "did not reboot" in step.text

    def test_after_it_the_machine_is_compared(self) -> None:
        step = next_step(seen(desired=B, disk=journal(Phase.REBOOTING) | {"boot_id": "2"}))
        assert isinstance(step, steps.Verify)
        assert (step.config, step.before) == (B, A)

    def test_and_then_the_journal_is_closed(self) -> None:
        step = next_step(seen(desired=B, verified=B, disk=journal(Phase.REBOOTING) | {"boot_id": "2"}))
        assert isinstance(step, steps.Close)

    @pytest.mark.parametrize(("reboots", "again"), [(0, True), (1, True), (2, False)])
    def test_arguments_that_did_not_take_get_two_reboots(self, reboots: int, again: bool) -> None:
        finding = Finding(ARGUMENTS, "x", "running kernel arguments differ from the config; missing: x")
        disk = journal(Phase.REBOOTING, reboots=reboots) | {"boot_id": "2"}
        step = next_step(seen(desired=B, verified=B, findings=(finding,), disk=disk))
        assert isinstance(step, steps.Reboot if again else steps.Degrade)

    def test_other_differences_get_none(self) -> None:
        finding = Finding(FILE, "/etc/b", "differs")
        disk = journal(Phase.REBOOTING, reboots=1) | {"boot_id": "2"}
        assert degraded(seen(desired=B, verified=B, findings=(finding,), disk=disk)).text.endswith("differs")

    def test_going_back_after_a_reboot_reboots(self) -> None:
        finding = Finding(FILE, "/etc/b", "differs")
        disk = journal(Phase.REBOOTING, reboots=1, ran=True) | {"boot_id": "2"}
        step = next_step(seen(verified=B, findings=(finding,), disk=disk))
        assert isinstance(step, steps.Undo)
        assert step.reboot

    def test_a_performed_update_is_compared_without_a_reboot(self) -> None:
        disk = journal(Phase.PERFORMED, post_actions=(NONE,))
        assert isinstance(next_step(seen(desired=B, disk=disk)), steps.Verify)


class TestOverrides:
    """A section that the MachineConfiguration lets pass (spec/daemon.md 6.2 step 8)."""

    DISKS = typed(config("b", ignition={"storage": {"disks": [{"device": "/dev/sdx", "wipeTable": True}]}}))
    CONFIGS: ClassVar = {A: CONFIGS[A], B: DISKS}

    def step(self, **more: Any) -> steps.AnyStep:
        return next_step(seen(desired=B, verified=A, configs=self.CONFIGS, **more))

    def test_nobody_refuses_before_they_are_known(self) -> None:
        assert isinstance(self.step(policies=None), steps.FetchPolicies)

    def test_without_one_the_change_is_refused(self) -> None:
        step = self.step()
        assert isinstance(step, steps.Refuse)
        assert step.text.endswith("ignition disks section contains changes")

    def test_with_one_nothing_is_left_to_do(self) -> None:
        step = self.step(overrides=("Disks",))
        assert isinstance(step, steps.Begin)
        assert step.update.disruption.actions == (NONE,)

    def test_what_none_could_let_pass_is_refused_at_once(self) -> None:
        folder = typed(config("b", ignition={"storage": {"directories": [{"path": "/etc/d"}]}}))
        step = next_step(seen(desired=B, verified=A, configs={A: CONFIGS[A], B: folder}, policies=None))
        assert isinstance(step, steps.Refuse)


class TestRefusals:
    def test_irreconcilable(self) -> None:
        wrong = typed(config("b", ignition={"passwd": {"groups": [{"name": "g"}]}}))
        step = next_step(seen(desired=B, verified=A, configs={A: CONFIGS[A], B: wrong}))
        assert isinstance(step, steps.Refuse)
        assert "Groups section contains changes" in step.text

    def test_unparsable(self) -> None:
        wrong = typed(config("b", ignition={"ignition": {"version": "9.0.0"}}))
        step = next_step(seen(desired=B, verified=A, configs={A: CONFIGS[A], B: wrong}))
        assert isinstance(step, steps.Refuse)
        assert step.text.startswith("parsing new Ignition config from machineconfig")

    def test_what_cannot_be_written(self) -> None:
        wrong = typed(config("b", files=[file("/proc/x", "")]))
        step = degraded(seen(desired=B, verified=A, configs={A: CONFIGS[A], B: wrong}))
        assert f"MachineConfig/{B} $.spec.config.storage.files.0.path: /proc/x" in step.text
        assert "mco validate" in step.text
