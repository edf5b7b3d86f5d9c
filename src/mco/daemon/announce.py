"""What a node says at each step of an update: annotations of its Node, conditions of its report, events.

Everything is staged in the reporter; who calls decides when it is written. The daemon and simulated nodes say
the same.
"""

from __future__ import annotations

from mco.api import names
from mco.daemon import texts
from mco.daemon.report import Reporter
from mco.plan import report
from mco.plan.node import steps
from mco.plan.node.observation import Observation
from mco.plan.node.step import SINGLE_REPLICA


def update(reporter: Reporter, node: str, plan: steps.UpdatePlan, seen: Observation) -> None:
    """The beginning of an update, said once however many passes it takes."""
    if not seen.node.failing:
        reporter.annotate({names.STATE: names.STATE_WORKING})
    if seen.started:
        reporter.step(texts.needs_update(node))
    else:
        text = f"Booting node {node}, currentConfig {plan.old.name}, desiredConfig {plan.new.name}"
        reporter.event_once("Normal", "BootResync", text)
    reporter.step(texts.prepared(plan.disruption.drain))
    if plan.old.name in seen.unknown:
        reporter.step(texts.config_unknown(plan.old.name, plan.new.name, plan.changes))


def drain_request(reporter: Reporter, node: str, step: steps.AskForDrain, seen: Observation) -> None:
    update(reporter, node, step.update, seen)
    reporter.annotate({names.DESIRED_DRAIN: step.request})
    reporter.event("Normal", "Cordon", "Cordoned node to apply update")
    reporter.event("Normal", "Drain", "Draining node to update config.")


def update_without_drain(reporter: Reporter, node: str, plan: steps.UpdatePlan, seen: Observation) -> None:
    update(reporter, node, plan, seen)
    reporter.step(texts.no_drain())
    if plan.disruption.drain and seen.node.topology == SINGLE_REPLICA:
        reporter.event("Normal", "Drain", "Drain not required, skipping")


def applied(reporter: Reporter, node: str, plan: steps.UpdatePlan, seen: Observation) -> None:
    """That the node was drained for it is said along with it, so that the drain controller need not."""
    if seen.node.last_applied_drain == f"drain-{plan.new.name}":
        for step in report.drained(node):
            reporter.step(step)
    reporter.step(texts.applied(plan.changes))


def reboot(reporter: Reporter, config: str) -> None:
    reporter.annotate({names.POST_CONFIG_ACTION: names.REBOOTING})
    reporter.step(texts.reboot_needed())
    reporter.event("Normal", "Reboot", f"Node will reboot into config {config}")


def rebooted(reporter: Reporter, seen: Observation) -> None:
    """The first report after a reboot (spec/daemon.md 4.1, 4)."""
    if seen.node.post_config_action == names.REBOOTING and seen.disk.transaction is None:
        reporter.annotate({names.POST_CONFIG_ACTION: ""})
        reporter.step(texts.rebooted())


def uncordon_request(reporter: Reporter, step: steps.AskForUncordon, seen: Observation) -> None:
    rebooted(reporter, seen)
    reporter.annotate({names.DESIRED_DRAIN: step.request})
    reporter.step(texts.resumed(step.config, booting=not seen.started))
    reporter.event("Normal", "Uncordon", "Update completed, uncordoning node")


def finish(reporter: Reporter, node: str, config: str) -> None:
    reporter.annotate({names.CURRENT_CONFIG: config, names.STATE: names.STATE_DONE, names.REASON: ""})
    reporter.step(texts.success(node))
    reporter.step(texts.updated(node))
    reporter.event("Normal", "NodeDone", f"Setting node {node}, currentConfig {config} to Done")


def refusal(reporter: Reporter, node: str, state: str, text: str) -> None:
    """An update that was not begun."""
    reporter.step(texts.refused(text))
    failure(reporter, node, state, text)


def failure(reporter: Reporter, node: str, state: str, text: str) -> None:
    """`state`: Degraded or Unreconcilable."""
    reporter.annotate({names.STATE: state, names.REASON: texts.cut(text)})
    reporter.step(texts.failure(node, text))
