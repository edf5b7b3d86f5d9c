"""What a change does to a running node besides writing it: services, a drain, a reboot, and why.

`in_cluster` follows the policies of the cluster (spec/node.md 6.4, 6.5), `at_first_boot` the fixed table of
a node that has no cluster yet (spec/daemon.md 6.5).
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

import msgspec

from mco.api.machineconfiguration import DisruptionPolicies
from mco.plan.node import matches, registries
from mco.plan.node import policies as policy
from mco.plan.node.diff import Changes, files
from mco.plan.node.matches import CRIO, Match, PostAction
from mco.plan.node.target import Target

__all__ = ["CRIO", "Disruption", "PostAction", "at_first_boot", "in_cluster"]


class Disruption(msgspec.Struct, frozen=True, kw_only=True):
    """`actions` in the order in which they are done; `because`: one line for each of them. `drain_because`:
    why the node is drained, or why it is not."""

    actions: tuple[PostAction, ...] = ()
    drain: bool = False
    because: tuple[str, ...] = ()
    drain_because: str = ""

    @property
    def reboot(self) -> bool:
        return any(action.type == policy.REBOOT for action in self.actions)

    @property
    def why(self) -> str:
        """All reasons in one line."""
        return "; ".join(self.because) or "no policy asks for anything"


_SYSTEM = {
    "os_image": "the OS image",
    "kernel_arguments": "the kernel arguments",
    "fips": "the FIPS mode",
    "kernel_type": "the kernel type",
    "extensions": "the extensions",
}


def in_cluster(old: Target, new: Target, changes: Changes, policies: DisruptionPolicies) -> Disruption:
    """Raises InvalidInput when a changed registries.conf has to be judged and cannot be parsed."""
    if changes.forced:
        return _reboot("the force file asks for it")
    if changes.operating_system:
        return _reboot(_system_reason(changes))
    if changes.empty:
        return _quiet("nothing changes")
    found = matches.of(changes, policies)
    if found.unmatched:
        return _reboot(f"no policy for {found.unmatched}")
    wanted = {action for match in found.found for action in match.actions}
    if (reboot := PostAction(policy.REBOOT)) in wanted:
        return _reboot(_asking(reboot, found.found))
    return _decided(old, new, found.found)


def _system_reason(changes: Changes) -> str:
    *others, last = (what for flag, what in _SYSTEM.items() if getattr(changes, flag))
    return f"{', '.join(others)} and {last} changed" if others else f"{last} changed"


def _reboot(why: str) -> Disruption:
    return Disruption(
        actions=(PostAction(policy.REBOOT),),
        drain=True,
        because=(f"Reboot: {why}",),
        drain_because="the node reboots",
    )


def _quiet(why: str) -> Disruption:
    return Disruption(
        actions=(PostAction(policy.NONE),), because=(f"None: {why}",), drain_because="no action asks for it"
    )


def _decided(old: Target, new: Target, found: Sequence[Match]) -> Disruption:
    """None counts only where nothing else is asked for."""
    actions = matches.combined(match.actions for match in found)
    none = PostAction(policy.NONE)
    actions = tuple(action for action in actions if action != none) or actions
    drain, why = _drain({action.type for action in actions}, old, new)
    return Disruption(
        actions=actions,
        drain=drain,
        because=tuple(f"{_label(action)}: {_asking(action, found)}" for action in actions),
        drain_because=why,
    )


def _drain(kinds: Collection[str], old: Target, new: Target) -> tuple[bool, str]:
    if policy.DRAIN in kinds:
        return True, "a policy asks for it"
    if policy.SPECIAL in kinds:
        unsafe = _registries_risk(old, new)
        return bool(unsafe), unsafe or "registries are only added to"
    return False, "no action asks for it"


def _label(action: PostAction) -> str:
    return f"{action.type} {action.service}" if action.service else action.type


def _asking(action: PostAction, found: Sequence[Match]) -> str:
    return "; ".join(dict.fromkeys(match.because for match in found if action in match.actions))


def _registries_risk(old: Target, new: Target) -> str:
    before, after = files(old).get(policy.REGISTRIES_CONF), files(new).get(policy.REGISTRIES_CONF)
    return registries.risk(before, after)


_FIRST_BOOT_NONE = ("/etc/kubernetes/kubelet-ca.crt", "/var/lib/kubelet/config.json")
_FIRST_BOOT_RELOAD = (
    policy.REGISTRIES_CONF,
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
    "/etc/containers/policy.json",
)


def at_first_boot(old: Target, new: Target, changes: Changes) -> Disruption:
    """The fixed decision of a node without a cluster: units always reboot, folders match only their direct
    children."""
    if changes.forced:
        return _reboot("the force file asks for it")
    if changes.operating_system:
        return _reboot(_system_reason(changes))
    if changes.units:
        return _reboot("units change before the node has joined")
    kinds = {path: _first_boot_action(path) for path in sorted(changes.changed_files)}
    for action in (
        PostAction(policy.REBOOT),
        PostAction(policy.RESTART, CRIO),
        PostAction(policy.RELOAD, CRIO),
    ):
        asking = [path for path, kind in kinds.items() if kind == action]
        if asking:
            why = f"the first boot's table for {', '.join(asking)}"
            return _reboot(why) if action.type == policy.REBOOT else _crio(old, new, action, why, kinds)
    return _quiet("nothing that changes asks for more")


def _crio(old: Target, new: Target, action: PostAction, why: str, changed: Collection[str]) -> Disruption:
    unsafe = _registries_risk(old, new) if policy.REGISTRIES_CONF in changed else ""
    return Disruption(
        actions=(action,),
        drain=bool(unsafe),
        because=(f"{_label(action)}: {why}",),
        drain_because=unsafe or "running pods are not hurt",
    )


def _first_boot_action(path: str) -> PostAction:
    folder = posixpath.dirname(path)
    if path in _FIRST_BOOT_NONE or folder == "/etc/nmstate/openshift":
        return PostAction(policy.NONE)
    if path in _FIRST_BOOT_RELOAD or folder == "/etc/containers/registries.d":
        return PostAction(policy.RELOAD, CRIO)
    if path == policy.USER_CA_ANCHOR:
        return PostAction(policy.RESTART, CRIO)
    return PostAction(policy.REBOOT)
