"""What a change does to a running node besides writing it: services, a drain, a reboot, and why.

`in_cluster` follows the policies of the cluster (spec/node.md 6.4, 6.5), `at_first_boot` the fixed table of
a node that has no cluster yet (spec/daemon.md 6.5). Files come before units before SSH keys, each in its
config's order; an action that is repeated is done once, where it stands first.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import msgspec

from mco.api.machineconfiguration import Action, DisruptionPolicies
from mco.plan.node import policies as policy
from mco.plan.node import registries
from mco.plan.node.diff import Changes, files
from mco.plan.node.target import Target

CRIO = "crio"
"""The spelling of the service that Special actions and the first-boot table use (spec/daemon.md 6.21)."""


class PostAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """`type` as in a policy; `service` only for Reload, Restart and Special."""

    type: str
    service: str = ""

    def describe(self) -> str:
        match self.type:
            case policy.RELOAD | policy.SPECIAL:
                return f"reload {self.service}"
            case policy.RESTART:
                return f"restart {self.service}"
            case policy.DAEMON_RELOAD:
                return "reload the service manager"
            case policy.NONE:
                return "nothing more"
            case _:
                return self.type.lower()


class Disruption(msgspec.Struct, frozen=True, kw_only=True):
    """`actions` in the order in which they are done; `because`: one sentence per action or match."""

    actions: tuple[PostAction, ...] = ()
    drain: bool = False
    because: tuple[str, ...] = ()

    @property
    def reboot(self) -> bool:
        return any(action.type == policy.REBOOT for action in self.actions)


_REBOOT = (PostAction(policy.REBOOT),)
_PARTS = {
    "os_image": "the OS image",
    "kernel_arguments": "the kernel arguments",
    "fips": "the FIPS mode",
    "kernel_type": "the kernel type",
    "extensions": "the extensions",
}


def in_cluster(old: Target, new: Target, changes: Changes, policies: DisruptionPolicies) -> Disruption:
    """Raises InvalidInput when a changed registries.conf has to be judged and cannot be parsed."""
    if changes.forced:
        return Disruption(actions=_REBOOT, drain=True, because=("the force file asks for a reboot",))
    if changes.operating_system:
        return Disruption(actions=_REBOOT, drain=True, because=_system_reasons(changes))
    if changes.empty:
        return Disruption(actions=(PostAction(policy.NONE),), because=("nothing changes",))
    collected: list[PostAction] = []
    because: list[str] = []
    for what, name, actions in _matches(changes, policies):
        if actions is None:
            why = f"{what} {name} has no policy, so that the node reboots"
            return Disruption(actions=_REBOOT, drain=True, because=(why,))
        collected += (_post_action(action) for action in actions)
        said = ", ".join(_post_action(action).describe() for action in actions) or "no action"
        because.append(f"{what} {name}: {said}")
    return _decided(old, new, _reduced(collected), because)


def _matches(
    changes: Changes, policies: DisruptionPolicies
) -> Iterable[tuple[str, str, tuple[Action, ...] | None]]:
    """Each changed thing with the actions of its policy, None without one."""
    for path in changes.changed_files:
        found = policy.for_file(policies, path)
        where = f" (policy {found.path})" if found and found.path != path else ""
        yield "file", path + where, found.actions if found else None
    for name in changes.changed_units:
        unit = policy.for_unit(policies, name)
        yield "unit", name, unit.actions if unit else None
    if changes.passwd:
        yield "SSH keys and passwords of", "core", policies.sshkey.actions


def _system_reasons(changes: Changes) -> tuple[str, ...]:
    return tuple(f"{text} change" for flag, text in _PARTS.items() if getattr(changes, flag))


def _post_action(action: Action) -> PostAction:
    match action.type:
        case policy.RELOAD:
            return PostAction(action.type, action.reload.service_name if action.reload else "")
        case policy.RESTART:
            return PostAction(action.type, action.restart.service_name if action.restart else "")
        case policy.SPECIAL:
            return PostAction(action.type, CRIO)
        case _:
            return PostAction(action.type)


def _reduced(actions: Iterable[PostAction]) -> tuple[PostAction, ...]:
    """A reboot makes all others pointless, and None counts only where nothing else is asked for."""
    once = tuple(dict.fromkeys(actions))
    if any(action.type == policy.REBOOT for action in once):
        return _REBOOT
    real = tuple(action for action in once if action.type != policy.NONE)
    return real or once


def _decided(old: Target, new: Target, actions: tuple[PostAction, ...], because: list[str]) -> Disruption:
    kinds = {action.type for action in actions}
    drain = bool(kinds & {policy.REBOOT, policy.DRAIN})
    if not drain and policy.SPECIAL in kinds:
        unsafe = _registries_risk(old, new)
        drain = bool(unsafe)
        because.append(f"drain: {unsafe}" if unsafe else "no drain: registries are only added to")
    return Disruption(actions=actions, drain=drain, because=tuple(because))


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
    if changes.forced or changes.operating_system or changes.units:
        reasons = _system_reasons(changes) or ("units change before the node has joined",)
        return Disruption(actions=_REBOOT, drain=True, because=reasons)
    kinds = {path: _first_boot_action(path) for path in changes.changed_files}
    for path, action in kinds.items():
        if action.type == policy.REBOOT:
            return Disruption(actions=_REBOOT, drain=True, because=(f"file {path} reboots the node",))
    because = [f"file {path}: {action.describe()}" for path, action in kinds.items()]
    wanted = set(kinds.values())
    for action in (PostAction(policy.RESTART, CRIO), PostAction(policy.RELOAD, CRIO)):
        if action in wanted:
            unsafe = _registries_risk(old, new) if policy.REGISTRIES_CONF in kinds else ""
            return Disruption(actions=(action,), drain=bool(unsafe), because=tuple(because))
    return Disruption(actions=(PostAction(policy.NONE),), because=tuple(because))


def _first_boot_action(path: str) -> PostAction:
    folder = posixpath.dirname(path)
    if path in _FIRST_BOOT_NONE or folder == "/etc/nmstate/openshift":
        return PostAction(policy.NONE)
    if path in _FIRST_BOOT_RELOAD or folder == "/etc/containers/registries.d":
        return PostAction(policy.RELOAD, CRIO)
    if path == policy.USER_CA_ANCHOR:
        return PostAction(policy.RESTART, CRIO)
    return PostAction(policy.REBOOT)
