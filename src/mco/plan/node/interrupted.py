"""Decisions about an update that the journal on the disk knows: go on, go back, reboot, look, close.

An update that was begun is carried on while it is still wanted and undone when it is not; after the reboot
that it asked for, the machine is compared with its config first.
"""

from __future__ import annotations

from mco.base.errors import InvalidInput
from mco.plan.node import diff, disruption, known, steps, update
from mco.plan.node.observation import Observation, Phase, Transaction
from mco.plan.node.steps import AnyStep, UpdatePlan
from mco.plan.node.verify import ARGUMENTS

REBOOT_REQUESTS = 3
"""How often a reboot that does not happen is asked for."""
ARGUMENT_REBOOTS = 2
"""How many reboots kernel arguments get to take."""


def interrupted(seen: Observation) -> AnyStep | None:
    transaction = seen.disk.transaction
    if transaction is None:
        return None
    match transaction.phase:
        case Phase.UNDOING:
            return _undo(transaction, "the update was being undone")
        case Phase.UNDONE:
            return _after_reboot(seen, transaction, transaction.old, transaction.new)
        case _ if seen.node.desired and seen.node.desired != transaction.new and not _booted(seen):
            return _undo(transaction, f"{transaction.new} is no longer the desired config")
        case Phase.APPLYING:
            return _resume(seen, transaction)
        case Phase.PERFORMED:
            return _checked(seen, transaction, transaction.new, transaction.old)
        case Phase.REBOOTING:
            return _after_reboot(seen, transaction, transaction.new, transaction.old)


def _booted(seen: Observation) -> bool:
    """Whether the reboot that the journal waits for has happened."""
    transaction = seen.disk.transaction
    return (
        transaction is not None
        and transaction.phase in (Phase.REBOOTING, Phase.UNDONE)
        and transaction.boot_id != seen.disk.boot_id
    )


def _undo(transaction: Transaction, because: str) -> AnyStep:
    return steps.Undo(
        config=transaction.old, reboot=transaction.ran and transaction.needs_reboot, because=because
    )


def _resume(seen: Observation, transaction: Transaction) -> AnyStep:
    if fetch := known.fetch(seen, transaction.old, transaction.new):
        return fetch
    if lost := known.missing(seen, transaction.old, transaction.new):
        return _undo(transaction, f"the update cannot be completed: {lost}")
    try:
        plan = _plan(seen, transaction.old, transaction.new, forced=transaction.forced)
    except InvalidInput as error:
        return _undo(transaction, f"the update cannot be completed: {error}")
    interrupted = disruption.Disruption(
        actions=transaction.post_actions, because=("the update was begun before",)
    )
    return steps.Begin(
        update=_with(plan, interrupted), resumed=True, because="the update was interrupted on this node"
    )


def _after_reboot(seen: Observation, transaction: Transaction, config: str, before: str) -> AnyStep:
    if not _booted(seen):
        if transaction.phase is Phase.UNDONE and transaction.light:
            return _checked(seen, transaction, config, before)
        if transaction.reboots >= REBOOT_REQUESTS:
            return steps.Degrade(
                text=f"the machine did not reboot into {config}, it was asked {transaction.reboots} times",
                because="the boot id is still the one before the reboot",
            )
        return steps.Reboot(config=config, because=f"{config} is complete only after a reboot")
    return _checked(seen, transaction, config, before)


def _checked(seen: Observation, transaction: Transaction, config: str, before: str) -> AnyStep:
    """Compare the disk with what the update should have made of it."""
    if fetch := known.fetch(seen, config, before):
        return fetch
    withdrawn = transaction.phase is not Phase.UNDONE and seen.node.desired not in ("", transaction.new)
    if lost := known.missing(seen, config):
        return _undo(transaction, lost) if withdrawn else known.lost_config(seen, lost)
    if seen.verified is None or seen.verified.config != config:
        return steps.Verify(config=config, before=before, because="the update has to be seen on the machine")
    findings = seen.verified.findings
    if not findings:
        return steps.Close(config=config, because=f"the machine is what {config} says")
    if withdrawn:
        return _undo(transaction, f"{transaction.new} did not take and is no longer the desired config")
    only_arguments = all(finding.kind == ARGUMENTS for finding in findings)
    if only_arguments and transaction.reboots < ARGUMENT_REBOOTS and transaction.phase is not Phase.PERFORMED:
        return steps.Reboot(config=config, because=findings[0].message)
    return known.drifted(config, findings, known.BOOT_CHECK_FAILED)


def _plan(seen: Observation, old: str, new: str, *, forced: bool) -> UpdatePlan:
    former, latter = known.pair(seen, old, new)
    changes = diff.compare(former, latter, forced=forced)
    return UpdatePlan(
        old=former,
        new=latter,
        changes=changes,
        actions=update.actions(former, latter, changes),
        disruption=disruption.Disruption(),
    )


def _with(plan: UpdatePlan, effect: disruption.Disruption) -> UpdatePlan:
    return UpdatePlan(
        old=plan.old, new=plan.new, changes=plan.changes, actions=plan.actions, disruption=effect
    )
