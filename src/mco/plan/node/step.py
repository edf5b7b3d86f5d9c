"""The one next step of a node (design.md 4; spec/daemon.md 4, 5, 6, 13).

`next_step` is asked again after every step and after everything that changes; it keeps nothing. The journal
on the disk decides first: an update that was begun is carried on while it is still wanted and undone when
it is not. Only a disk that was compared with a config counts as having it.
"""

from __future__ import annotations

from collections.abc import Callable

from mco.api import names
from mco.base.errors import InvalidInput
from mco.plan.node import diff, disruption, known, reconcile, refuse, steps, target, update
from mco.plan.node.interrupted import interrupted
from mco.plan.node.known import BOOT_CHECK_FAILED, PREFLIGHT_FAILED
from mco.plan.node.observation import Observation
from mco.plan.node.steps import AnyStep, UpdatePlan

DRAIN_SECONDS = 3600.0
UNCORDON_SECONDS = 600.0
POLICY_SECONDS = 120.0

SINGLE_REPLICA = "SingleReplica"

FAILED_TO_DRAIN = "FailedToDrain"
FAILED_TO_UNCORDON = "FailedToUncordon"


# The config of a machine that was there before (design.md 10, adoption). Nobody has drained it for us: an
# answer that is there already keeps it as its owner left it, cordoned or not.
_ADOPTED = {
    names.CURRENT_CONFIG: target.EMPTY_NAME,
    names.DESIRED_CONFIG: target.EMPTY_NAME,
    names.STATE: names.STATE_DONE,
    names.DESIRED_DRAIN: f"uncordon-{target.EMPTY_NAME}",
    names.LAST_APPLIED_DRAIN: f"uncordon-{target.EMPTY_NAME}",
}


def next_step(seen: Observation) -> AnyStep:
    """Never fails: what cannot be decided is a Degrade step."""
    chain: tuple[Callable[[Observation], AnyStep | None], ...] = (
        _reboot_requested,
        _initial_annotations,
        interrupted,
        _no_target,
        _joining,
        _settled,
        _changed_disk,
        _finish,
    )
    for decide in chain:
        if step := decide(seen):
            return step
    return _update(seen)


def base(seen: Observation) -> str:
    """The config that the disk holds: its own note wins over the annotation (spec/daemon.md 4.2e)."""
    return seen.disk.recorded or seen.node.current or target.EMPTY_NAME


def _reboot_requested(seen: Observation) -> AnyStep | None:
    return steps.Wait(because="the machine is about to reboot") if seen.reboot_requested else None


def _initial_annotations(seen: Observation) -> AnyStep | None:
    """Spec/daemon.md 4.2a. What the cluster has set in the meantime stays."""
    if seen.node.current:
        return None
    if seen.disk.initial:
        return steps.Initialise(
            annotations=_unset(seen, dict(seen.disk.initial)),
            because="the node was served with these annotations and has none yet",
        )
    if recorded := seen.disk.recorded:
        wanted = {
            names.CURRENT_CONFIG: recorded,
            names.DESIRED_CONFIG: recorded,
            names.STATE: names.STATE_DONE,
        }
        return steps.Initialise(
            annotations=_unset(seen, wanted), because=f"the disk says that it holds {recorded}"
        )
    return steps.Initialise(
        annotations=_unset(seen, dict(_ADOPTED)), because="no config server has ever served this machine"
    )


def _unset(seen: Observation, wanted: dict[str, str]) -> dict[str, str]:
    node = seen.node
    have = {
        names.DESIRED_CONFIG: node.desired,
        names.STATE: node.state,
        names.DESIRED_DRAIN: node.desired_drain,
        names.LAST_APPLIED_DRAIN: node.last_applied_drain,
    }
    return {key: value for key, value in wanted.items() if not have.get(key)}


def _no_target(seen: Observation) -> AnyStep | None:
    if seen.node.desired:
        return None
    return steps.Wait(because="no pool has given the node a config yet")


def _joining(seen: Observation) -> AnyStep | None:
    """A node that has just been served its config: the disk must hold it before the node counts as joined.
    The config comes from the cluster, so that a first boot's reduced note does not stay (spec/daemon.md
    4.2)."""
    if seen.disk.initial is None or (seen.disk.forced and seen.disk.recorded):
        return None
    config = base(seen)
    if step := _must_verify(seen, config, BOOT_CHECK_FAILED):
        return step
    return steps.Record(config=config, because="the machine is what it was served")


def _settled(seen: Observation) -> AnyStep | None:
    done = seen.node.state == names.STATE_DONE and seen.node.current == seen.node.desired == base(seen)
    if seen.started and done:
        return steps.Settle(config=seen.node.desired, because="current and desired config are the same")
    return None


def _changed_disk(seen: Observation) -> AnyStep | None:
    """Nothing is built on a disk that is not what it was left as (spec/daemon.md 4.2g, 5)."""
    if seen.disk.forced:
        return None
    return _must_verify(seen, base(seen), PREFLIGHT_FAILED if seen.started else BOOT_CHECK_FAILED)


def _must_verify(seen: Observation, config: str, event: str) -> AnyStep | None:
    if fetch := known.fetch(seen, config):
        return fetch
    if lost := known.missing(seen, config):
        return known.lost_config(seen, lost)
    if seen.verified is None or seen.verified.config != config:
        return steps.Verify(config=config, because=f"the disk has to hold {config} first")
    if seen.verified.findings:
        return known.drifted(config, seen.verified.findings, event)
    return None


def _finish(seen: Observation) -> AnyStep | None:
    config = seen.node.desired
    if base(seen) != config or seen.disk.forced:
        return None
    request = f"uncordon-{config}"
    if seen.node.last_applied_drain == request:
        if seen.node.state == names.STATE_DONE and seen.node.current == config:
            return steps.Settle(config=config, because="the machine is what its config says")
        return steps.Finish(config=config, because="the machine is what its config says")
    if seen.node.desired_drain != request:
        return steps.AskForUncordon(
            config=config, request=request, because="the machine is what its config says"
        )
    if seen.waited > UNCORDON_SECONDS:
        return steps.Degrade(
            text=f"failed to uncordon node: {int(UNCORDON_SECONDS)} s without an answer to {request}",
            event=FAILED_TO_UNCORDON,
            because="the drain controller does not answer",
        )
    return steps.Wait(
        seconds=UNCORDON_SECONDS - seen.waited + 1, because=f"waiting for the drain controller to {request}"
    )


def _update(seen: Observation) -> AnyStep:
    old, new = base(seen), seen.node.desired
    if fetch := known.fetch(seen, old, new):
        return fetch
    if lost := known.missing(seen, old, new):
        return known.lost_config(seen, lost)
    try:
        sides = known.pair(seen, old, new)
    except InvalidInput as error:
        return steps.Refuse(config=new, text=str(error), because="the desired config is not valid")
    if step := _irreconcilable(seen, *sides):
        return step
    if wrong := refuse.problems(sides[1]):
        return _refused(wrong)
    return _decided(seen, *sides)


def _irreconcilable(seen: Observation, old: target.Target, new: target.Target) -> AnyStep | None:
    why = reconcile.refusal(old, new, overrides=seen.overrides, fips=seen.disk.fips)
    if not why:
        return None
    # The same object says which sections may differ all the same.
    passing = reconcile.refusal(old, new, overrides=reconcile.OVERRIDABLE, fips=seen.disk.fips)
    if passing != why and seen.policies is None:
        return _policies(seen)
    return steps.Refuse(config=new.name, text=why, because="a running node cannot follow this change")


def _refused(wrong: tuple[InvalidInput, ...]) -> AnyStep:
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    text = f"{first.subject} {first.path}: {first}{more}; {first.hint}"
    return steps.Degrade(text=text, prepared=False, because="the config cannot be written as it stands")


def _decided(seen: Observation, old: target.Target, new: target.Target) -> AnyStep:
    changes = diff.compare(old, new, forced=seen.disk.forced)
    if seen.policies is None:
        return _policies(seen)
    try:
        effect = disruption.in_cluster(old, new, changes, seen.policies)
    except InvalidInput as error:
        why = "the effect of the change cannot be judged"
        return steps.Degrade(text=str(error), prepared=False, because=why)
    plan = UpdatePlan(
        old=old,
        new=new,
        changes=changes,
        actions=update.actions(old, new, changes),
        disruption=effect,
    )
    return _drain(seen, plan) or steps.Begin(update=plan, because=effect.why)


def _policies(seen: Observation) -> AnyStep:
    if seen.policies_waited > POLICY_SECONDS:
        return steps.Degrade(
            text="node disruption policies are not ready: the status of MachineConfiguration cluster "
            "is not of its present generation",
            prepared=False,
            because="what the change does to the node depends on them",
        )
    return steps.FetchPolicies(because="what the change does to the node depends on the policies")


def _drain(seen: Observation, plan: UpdatePlan) -> AnyStep | None:
    request = f"drain-{plan.new.name}"
    needed = plan.disruption.drain and seen.node.topology != SINGLE_REPLICA
    if not needed or seen.node.last_applied_drain == request:
        return None
    if seen.node.desired_drain != request:
        return steps.AskForDrain(update=plan, request=request, because=plan.disruption.why)
    if seen.waited > DRAIN_SECONDS:
        return steps.Degrade(
            text=f"failed to drain node: {int(DRAIN_SECONDS)} s without an answer to {request}",
            event=FAILED_TO_DRAIN,
            because="the drain did not complete",
        )
    return steps.Wait(
        seconds=DRAIN_SECONDS - seen.waited + 1, because="previously requested drain has not completed"
    )
