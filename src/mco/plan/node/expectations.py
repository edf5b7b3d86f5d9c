"""What must be true on a node that has a config, as a list of values (spec/daemon.md 7.1, 7.2).

More than the original looks at: owners, enablement in both directions, SSH keys, password hashes, the running
kernel arguments (`docs/differences.md`). Certificates that are renewed outside of the configs are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mco.api import names
from mco.ignition import types
from mco.ignition.types import Resource
from mco.plan.node import actions as act
from mco.plan.node import arguments, update
from mco.plan.node.diff import units
from mco.plan.node.target import Target

RENEWED_ELSEWHERE = frozenset(
    {names.KUBELET_CA_FILE, names.CLOUD_CA_FILE, "/etc/mco/internal-registry-pull-secret.json"}
)


class FileIs(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A regular file with these bytes, mode and owner. `what`: `file`, `unit` or `dropin`."""

    path: str
    contents: Resource | str
    mode: int
    user: act.Owner = act.ROOT
    group: act.Owner = act.ROOT
    what: str = "file"


class FileIsEmptyOrAbsent(msgspec.Struct, frozen=True, tag=True):
    """What an empty drop-in means."""

    path: str


class UnitIsMasked(msgspec.Struct, frozen=True, tag=True):
    """The unit's path leads to `/dev/null`."""

    name: str

    @property
    def path(self) -> str:
        return act.unit_path(self.name)


class UnitIsEnabled(msgspec.Struct, frozen=True, tag=True):
    """`defined`: the config brings the unit's contents; otherwise it may be missing from the machine."""

    name: str
    enabled: bool
    defined: bool


class KeysAre(msgspec.Struct, frozen=True, tag=True):
    """The SSH keys of a user, where the machine has that user."""

    user: str
    keys: tuple[str, ...]


class PasswordIs(msgspec.Struct, frozen=True, tag=True):
    """The password hash of a user, where the machine has that user; `*` means that none may work."""

    user: str
    hash: str


class ArgumentsRun(msgspec.Struct, frozen=True, tag=True):
    """Kernel arguments that must be on the running command line, and those that an update took away."""

    wanted: tuple[str, ...]
    gone: tuple[str, ...] = ()


Expectation = (
    FileIs | FileIsEmptyOrAbsent | UnitIsMasked | UnitIsEnabled | KeysAre | PasswordIs | ArgumentsRun
)


def expectations(
    side: Target, *, before: Target | None = None, running: bool = True
) -> tuple[Expectation, ...]:
    """Everything to be true of `side`, in the order in which it is checked. `before` is the config that an
    update came from; `running` False leaves out what only a reboot makes true."""
    arguments_: tuple[Expectation, ...] = (_arguments(side, before),) if running else ()
    return (*arguments_, *_files(side), *_units(side), *_keys(side, before), *_passwords(side, before))


def _arguments(side: Target, before: Target | None) -> ArgumentsRun:
    wanted = arguments.words(side.spec.kernel_arguments)
    former = arguments.words(before.spec.kernel_arguments) if before else ()
    return ArgumentsRun(wanted, tuple(word for word in dict.fromkeys(former) if word not in wanted))


def _files(side: Target) -> Iterator[Expectation]:
    for file in update.written_files(side):
        if file.path in RENEWED_ELSEWHERE:
            continue
        yield FileIs(
            path=file.path,
            contents=file.contents,
            mode=update.DEFAULT_FILE_MODE if file.mode is None else file.mode,
            user=update.owner(file.user),
            group=update.owner(file.group),
        )


def _units(side: Target) -> Iterator[Expectation]:
    for unit in units(side).values():
        for dropin in unit.dropins:
            yield _dropin(unit, dropin)
        if unit.mask:
            yield UnitIsMasked(unit.name)
            continue
        if unit.contents:
            yield FileIs(
                path=act.unit_path(unit.name), contents=unit.contents, mode=update.UNIT_MODE, what="unit"
            )
        if unit.enabled is not None:
            yield UnitIsEnabled(unit.name, unit.enabled, bool(unit.contents))


def _dropin(unit: types.Unit, dropin: types.Dropin) -> Expectation:
    path = act.dropin_path(unit.name, dropin.name)
    if not dropin.contents:
        return FileIsEmptyOrAbsent(path)
    return FileIs(path=path, contents=dropin.contents, mode=update.UNIT_MODE, what="dropin")


def _keys(side: Target, before: Target | None) -> Iterator[Expectation]:
    # A node that never had a passwd section keeps whatever keys its image brought.
    if side.config.passwd.users or (before is not None and before.config.passwd.users):
        yield KeysAre(update.SSH_USER, update.ssh_keys(side))


def _passwords(side: Target, before: Target | None) -> Iterator[PasswordIs]:
    """Passwords that nothing is said about: the first boot leaves the image's, an update locks them."""
    wanted = {user.name: user.password_hash or act.LOCKED for user in side.config.passwd.users}
    if before is not None and before.config.passwd != side.config.passwd:
        wanted.update(
            {user.name: act.LOCKED for user in before.config.passwd.users if user.name not in wanted}
        )
    else:
        wanted = {user: hash_ for user, hash_ in wanted.items() if hash_ != act.LOCKED}
    yield from (PasswordIs(user, hash_) for user, hash_ in wanted.items())
