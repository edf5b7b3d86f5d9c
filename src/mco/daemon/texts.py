"""The words of events and of a MachineConfigNode's conditions (spec/daemon.md 3.6, spec/node.md 5.3)."""

from __future__ import annotations

from mco.api import names
from mco.api.machineconfignode import CONFIG_UNKNOWN, UNITS_FAILED
from mco.api.meta import conditions as cond
from mco.plan import report
from mco.plan.node import policies
from mco.plan.node.diff import Changes
from mco.plan.node.disruption import PostAction
from mco.plan.report import Step

_NAMED = 50
"""How many files or units a condition names."""


def needs_update(node: str) -> Step:
    return Step(parent=report.UPDATED, status=cond.FALSE, message=f"Node {node} needs an update")


def prepared(drain: bool) -> Step:
    message = f"Update Compatible. Post Cfg Actions: [] Drain Required: {str(drain).lower()}"
    return Step(parent=report.UPDATE_PREPARED, message=message)


def refused(why: str) -> Step:
    return Step(
        parent=report.UPDATE_PREPARED,
        status=cond.UNKNOWN,
        message=f"Update Failed compatibility validation. {why}",
    )


def no_drain() -> Step:
    message = "Node Drain Not required for this update."
    return Step(
        parent=report.UPDATE_EXECUTED,
        status=cond.UNKNOWN,
        reason=report.DRAINED,
        message=message,
        child=report.DRAINED,
        child_status=cond.FALSE,
        child_message=message,
    )


def applied(changes: Changes) -> Step:
    image = "" if changes.operating_system else "not "
    keys = "" if changes.passwd else "not "
    message = f"OS will {image}need an update. SSH Keys will {keys}need an update"
    return Step(
        parent=report.UPDATE_EXECUTED,
        reason=report.APPLIED_FILES_AND_OS,
        message=message,
        child=report.APPLIED_FILES_AND_OS,
        child_message=message,
    )


def reboot_needed() -> Step:
    return Step(parent=report.REBOOTED_NODE, status=cond.UNKNOWN, message="Upgrade requires a reboot.")


def rebooted() -> Step:
    return Step(parent=report.REBOOTED_NODE, message="Node has rebooted")


def post_action(post: PostAction) -> Step | None:
    """A restart reports nothing, as in the original."""
    if post.type == policies.NONE:
        return Step(
            parent=report.UPDATE_POST_ACTION_COMPLETE,
            reason="None",
            message="Changes do not require a reboot",
        )
    if service := reloaded(post):
        return Step(parent=report.UPDATE_POST_ACTION_COMPLETE, message=f"Node has reloaded service {service}")
    return None


def reloaded(post: PostAction) -> str:
    """What an action reloads, in the words of its event; nothing for another action."""
    if post.type == policies.DAEMON_RELOAD:
        return "daemon-reload"
    return post.service if post.type in (policies.RELOAD, policies.SPECIAL) else ""


def post_event(post: PostAction, failure: str) -> tuple[str, str, str] | None:
    """Type, reason and message of the event of an action, None for one that has none."""
    if post.type == policies.NONE:
        return "Normal", "SkipReboot", "Config changes do not require reboot."
    if service := reloaded(post):
        if failure:
            return "Warning", "FailedServiceReload", f"Reloading service {service} failed. Error: {failure}"
        text = f"Config changes do not require reboot. Service {service} was reloaded."
        return "Normal", "ServiceReload", text
    if post.type == policies.RESTART:
        if failure:
            text = f"Restarting service {post.service} failed. Error: {failure}"
            return "Warning", "FailedServiceRestart", text
        text = f"Config changes do not require reboot. Service {post.service} was restarted."
        return "Normal", "ServiceRestart", text
    return None


def resumed(config: str, *, booting: bool) -> Step:
    """`booting`: the first sync of a daemon found it so."""
    more = " Applying proper annotations." if booting else ""
    message = f"In desired config {config}. Resumed normal operations.{more}"
    return Step(parent=report.RESUMED, message=message)


def updated(node: str) -> Step:
    return Step(parent=report.UPDATED, message=f"Node {node} Updated")


def failure(node: str, text: str) -> Step:
    return Step(parent=report.NODE_DEGRADED, message=f"Node {node} upgrade failure. {text}")


def success(node: str) -> Step:
    return Step(parent=report.NODE_DEGRADED, status=cond.FALSE, message=f"Node {node} upgrade succeeded")


def units_failed(units: tuple[str, ...]) -> Step:
    if not units:
        return Step(parent=UNITS_FAILED, status=cond.FALSE, message="All units of the config have started")
    return Step(parent=UNITS_FAILED, message=f"Units of the config that failed: {', '.join(units)}")


def config_unknown(old: str, new: str, changes: Changes) -> Step:
    """The names of what differs, never its contents."""
    parts = [part.replace("_", " ") for part in changes.flags if part not in ("files", "units")]
    for kind, changed in (("file", changes.changed_files), ("unit", changes.changed_units)):
        parts += [f"{kind} {name}" for name in changed[:_NAMED]]
        parts += [f"{len(changed) - _NAMED} more {kind}s"] if len(changed) > _NAMED else []
    message = f"The cluster does not have {old}; by the node's own copy {new} differs in: {', '.join(parts)}"
    return Step(parent=CONFIG_UNKNOWN, message=message)


def nothing_differs(config: str) -> Step:
    return Step(parent=CONFIG_UNKNOWN, status=cond.FALSE, message=f"On {config}, from which nothing differs")


def cut(text: str) -> str:
    """As long as a reason annotation may be, in characters."""
    return text[: names.MAX_REASON_CHARACTERS]
