"""Whether a running node can follow a change at all (spec/render.md 7.2, spec/daemon.md 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from mco.api import names
from mco.base.text import quote
from mco.ignition.types import PasswdUser
from mco.plan.node.target import Target

OVERRIDABLE = DISKS, FILESYSTEMS, RAID = "Disks", "FileSystems", "Raid"
"""What the `irreconcilableValidationOverrides` of the MachineConfiguration can let pass."""

_PASSWD = "invalid passwd change(s): "
_USERS = _PASSWD + "ignition passwd user section contains unsupported changes: "


def refusal(old: Target, new: Target, *, overrides: Collection[str] = (), fips: bool | None = None) -> str:
    """Why a node that has `old` cannot get `new`, in the original's words, or nothing when it can.

    `fips` is what the machine itself runs with, None where it cannot tell."""
    checks: tuple[Callable[[Target, Target], str], ...] = (
        _groups,
        _users,
        _ignition_arguments,
        lambda o, n: _storage(o, n, overrides),
        _files,
        lambda o, n: _fips(o, n, fips),
    )
    for check in checks:
        if why := check(old, new):
            # The original names the two the wrong way round; scripts match its text (spec/daemon.md 6.4).
            return f"new machineconfig {quote(old.name)} is not reconcilable against {quote(new.name)}: {why}"
    return ""


def _groups(old: Target, new: Target) -> str:
    if old.config.passwd.groups != new.config.passwd.groups:
        return _PASSWD + "ignition Passwd Groups section contains changes"
    return ""


def _users(old: Target, new: Target) -> str:
    users = new.config.passwd.users
    if old.config.passwd.users == users or not users:
        return ""
    if any(user.name != "core" for user in users):
        return _USERS + "non-core user"
    last = users[-1]
    if last.password_hash is None and not last.ssh_authorized_keys:
        return _USERS + "user must be core and have 1 or more sshKeys"
    if _others(last):
        return _PASSWD + "SSH keys and password hash are not reconcilable"
    return ""


def _others(user: PasswdUser) -> bool:
    """Whether a user carries anything but keys and a password hash."""
    plain = PasswdUser(
        name=user.name, password_hash=user.password_hash, ssh_authorized_keys=user.ssh_authorized_keys
    )
    return user != plain


def _ignition_arguments(old: Target, new: Target) -> str:
    if old.config.kernel_arguments != new.config.kernel_arguments:
        return "ignition kargs section contains changes"
    return ""


def _storage(old: Target, new: Target, overrides: Collection[str]) -> str:
    before, after = old.config.storage, new.config.storage

    def differing() -> Iterator[str]:
        if before.disks != after.disks and DISKS not in overrides:
            yield "disks"
        if before.filesystems != after.filesystems and FILESYSTEMS not in overrides:
            yield "filesystems"
        if before.raid != after.raid and RAID not in overrides:
            yield "raid"
        if before.directories != after.directories:
            yield "directories"
        if before.links != after.links and after.links:
            yield "links"

    section = next(differing(), "")
    return f"ignition {section} section contains changes" if section else ""


def _files(_: Target, new: Target) -> str:
    for file in new.config.storage.files:
        if file.append:
            return f"ignition file {file.path} includes append"
        if file.path == names.FORCE_FILE:
            return f"cannot create {names.FORCE_FILE} via Ignition"
    return ""


def _fips(old: Target, new: Target, machine: bool | None) -> str:
    running = old.spec.fips if machine is None else machine
    if old.spec.fips != new.spec.fips or running != new.spec.fips:
        return "detected change to FIPS flag; refusing to modify FIPS on a running cluster"
    return ""
