"""The ordered actions that turn a disk with one config into a disk with another (spec/daemon.md 6.2, 6.8 to
6.13).

Files first, each with its place in the config; then units; then what only the old config had; then keys and
passwords; then the command line of the next boot; last the record of which config the disk holds. What the
old config had in the way of a new path (a file where a folder is needed, or the reverse) goes before
anything is written. Every file is listed, also an unchanged one: doing an action that is already true costs
a comparison, and the result is the new config whatever happened to the disk in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from mco.ignition import types
from mco.plan.node import actions as act
from mco.plan.node.arguments import words
from mco.plan.node.diff import Changes, files, units
from mco.plan.node.target import Target

DEFAULT_FILE_MODE = 0o644
UNIT_MODE = 0o644
SSH_USER = "core"

KUBELET_CA = "/etc/kubernetes/kubelet-ca.crt"
_USER_CA = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
_CLOUD_CA = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem"
_NEVER_REMOVED = frozenset({_USER_CA, KUBELET_CA, _CLOUD_CA})
_LEAKED_LINKS = (
    f"{act.UNIT_FOLDER}/network-online.target.requires/node-valid-hostname.service",
    f"{act.UNIT_FOLDER}/network-online.target.wants/ovs-configuration.service",
)


def actions(old: Target, new: Target, changes: Changes) -> tuple[act.AnyAction, ...]:
    """What to do, in order. Certificates that are written outside of the configs are left alone."""
    wanted = owned_paths(new)
    stale = tuple(_stale(old, new, wanted))
    early = tuple(action for action in stale if _in_the_way(action.path, wanted))
    return (
        *early,
        *_write_files(old, new),
        *_write_units(old, new, changes),
        *(action for action in stale if action not in early),
        *_unmentioned(old, new),
        *_leaked_links(wanted),
        *_users(old, new, changes),
        *_kernel_arguments(old, new, changes),
        act.RecordConfig(name=new.name),
    )


def owned_paths(side: Target) -> frozenset[str]:
    """Every path that a config defines by any of its sections."""
    paths = set(files(side))
    for unit in side.config.systemd.units:
        if unit.contents or unit.mask:
            paths.add(act.unit_path(unit.name))
        paths.update(act.dropin_path(unit.name, d.name) for d in unit.dropins if d.contents)
    return frozenset(paths)


def written_files(side: Target) -> Iterator[types.File]:
    """The files that an update writes: not the kubelet's CA, which is renewed outside of the configs."""
    return (file for file in files(side).values() if file.path != KUBELET_CA)


def owner(who: types.NodeUser | types.NodeGroup) -> act.Owner:
    """0 when nothing is said (spec/daemon.md 6.8)."""
    if who.id is None and not who.name:
        return act.ROOT
    return act.Owner(id=who.id, name=who.name or "")


def ssh_keys(side: Target) -> tuple[str, ...]:
    """The keys of all users, in order (spec/daemon.md 6.11)."""
    return tuple(key for user in side.config.passwd.users for key in user.ssh_authorized_keys)


def _in_the_way(path: str, wanted: frozenset[str]) -> bool:
    below = path + "/"
    return any(other.startswith(below) or path.startswith(other + "/") for other in wanted)


def _write_files(old: Target, new: Target) -> Iterator[act.AnyAction]:
    before = owned_paths(old)
    for file in written_files(new):
        yield act.WriteFile(
            path=file.path,
            contents=file.contents,
            mode=DEFAULT_FILE_MODE if file.mode is None else file.mode,
            user=owner(file.user),
            group=owner(file.group),
            known=file.path in before,
        )


def _write_units(old: Target, new: Target, changes: Changes) -> Iterator[act.AnyAction]:
    before = owned_paths(old)
    former = units(old)
    touched = [u for u in units(new).values() if changes.forced or u.name in changes.changed_units]
    for unit in touched:
        yield from _dropins(unit, before)
        yield from _unit_file(unit, former.get(unit.name), before)
    yield from _enablement(touched)


def _dropins(unit: types.Unit, before: frozenset[str]) -> Iterator[act.AnyAction]:
    for dropin in unit.dropins:
        if not dropin.contents:
            yield act.RemoveDropin(unit=unit.name, name=dropin.name)
            continue
        known = act.dropin_path(unit.name, dropin.name) in before
        yield act.WriteDropin(unit=unit.name, name=dropin.name, contents=dropin.contents, known=known)


def _unit_file(
    unit: types.Unit, former: types.Unit | None, before: frozenset[str]
) -> Iterator[act.AnyAction]:
    known = act.unit_path(unit.name) in before
    if unit.mask:
        yield act.MaskUnit(name=unit.name, known=known)
    elif unit.contents:
        yield act.WriteUnit(name=unit.name, contents=unit.contents, known=known)
    elif unit.mask is False or (former is not None and (former.contents or former.mask)):
        yield act.RemoveUnit(name=unit.name, disable=bool(former and former.contents and not former.mask))


def _enablement(touched: list[types.Unit]) -> Iterator[act.AnyAction]:
    defined = frozenset(unit.name for unit in touched if unit.contents)
    enabled = tuple(unit.name for unit in touched if unit.enabled)
    disabled = tuple(unit.name for unit in touched if unit.enabled is False)
    if enabled:
        yield act.EnableUnits(names=enabled, defined=defined)
    if disabled:
        yield act.DisableUnits(names=disabled, defined=defined)
    for unit in touched:
        if unit.enabled is None and not unit.mask:
            yield act.PresetUnit(name=unit.name)


def _stale(
    old: Target, new: Target, wanted: frozenset[str]
) -> Iterator[act.RemoveFile | act.RemoveDropin | act.RemoveUnit]:
    """What only the old config defined."""
    for path in files(old):
        if path not in wanted and not _kept(path):
            yield act.RemoveFile(path=path)
    after = units(new)
    for unit in units(old).values():
        for dropin in unit.dropins:
            path = act.dropin_path(unit.name, dropin.name)
            mentioned = unit.name in after and any(d.name == dropin.name for d in after[unit.name].dropins)
            if dropin.contents and path not in wanted and not mentioned:
                yield act.RemoveDropin(unit=unit.name, name=dropin.name)
        gone = unit.name not in after and act.unit_path(unit.name) not in wanted
        if gone and (unit.contents or unit.mask):
            yield act.RemoveUnit(name=unit.name, disable=not unit.mask)


def _unmentioned(old: Target, new: Target) -> Iterator[act.AnyAction]:
    """Units of the machine that only the old config switched on or off."""
    after = units(new)
    for unit in units(old).values():
        if unit.name not in after and unit.enabled is not None and not (unit.contents or unit.mask):
            yield act.PresetUnit(name=unit.name)


def _kept(path: str) -> bool:
    """What an update never removes (spec/daemon.md 6.10)."""
    return path in _NEVER_REMOVED or "/etc/docker/certs.d" in path.rpartition("/")[0]


def _leaked_links(wanted: frozenset[str]) -> Iterator[act.AnyAction]:
    return (act.RemoveFile(path=path) for path in _LEAKED_LINKS if path not in wanted)


def _users(old: Target, new: Target, changes: Changes) -> Iterator[act.AnyAction]:
    if not changes.passwd:
        return
    yield act.SetSSHKeys(user=SSH_USER, keys=ssh_keys(new))
    staying = {user.name: user for user in new.config.passwd.users}
    for user in old.config.passwd.users:
        if user.name not in staying:
            yield act.SetPasswordHash(user=user.name, hash=act.LOCKED)
    for name, user in staying.items():
        yield act.SetPasswordHash(user=name, hash=user.password_hash or act.LOCKED)


def _kernel_arguments(old: Target, new: Target, changes: Changes) -> Iterator[act.AnyAction]:
    if changes.kernel_arguments:
        yield act.SetKernelArguments(
            old=words(old.spec.kernel_arguments), new=words(new.spec.kernel_arguments)
        )
