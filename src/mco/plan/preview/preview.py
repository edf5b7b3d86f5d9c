"""What a change from one rendered config to another would be for a node: the verdict, what differs, what
would be done, and why (spec/node.md 6, spec/render.md 7.2).

The decisions are those of `plan/node`, which the daemon asks too; here they only get a shape that scripts
can read and that shows no secrets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from mco.api.machineconfig import MachineConfig
from mco.api.machineconfiguration import DisruptionPolicies
from mco.base.errors import InvalidInput
from mco.ignition import types
from mco.plan.node import diff, disruption, policies, reconcile, refuse, target
from mco.plan.node.disruption import Disruption
from mco.plan.node.target import Target
from mco.plan.preview import accounts, files, parts, secrets, units
from mco.plan.preview.accounts import AccountChanges
from mco.plan.preview.files import FileChange
from mco.plan.preview.parts import Change, ListChange
from mco.plan.preview.units import UnitChange

NOTHING, CHANGES, REFUSED = 0, 1, 2


class ActionLine(msgspec.Struct, frozen=True):
    """An action of a policy; `service` is empty but for Reload and Restart."""

    type: str
    service: str


class Refusal(msgspec.Struct, frozen=True):
    """What this program's daemon refuses to write, although the original would."""

    path: str
    message: str
    hint: str


class Preview(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`reason`: why not, in the original's words. A part that does not differ is null or empty. `ignored`:
    parts that differ, but that a running node never looks at."""

    old: str = msgspec.field(name="from")
    new: str = msgspec.field(name="to")
    reconcilable: bool
    reason: str
    refused: tuple[Refusal, ...] = ()
    files: tuple[FileChange, ...] = ()
    units: tuple[UnitChange, ...] = ()
    passwd: AccountChanges | None = None
    os: Change[str] | None = None
    kernel_arguments: ListChange | None = None
    kernel_type: Change[str] | None = None
    extensions: ListChange | None = None
    fips: Change[bool] | None = None
    ignored: tuple[str, ...] = ()
    actions: tuple[ActionLine, ...] = ()
    drain: bool = False
    drain_because: str = ""
    reboot: bool = False
    because: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 nothing to do, 1 changes, 2 a node cannot or will not follow."""
        if not self.reconcilable or self.refused:
            return REFUSED
        on_disk = (self.files, self.units, self.passwd, self.kernel_arguments)
        return CHANGES if any((*on_disk, self.os, self.kernel_type, self.extensions, self.fips)) else NOTHING


def preview(
    old: MachineConfig, new: MachineConfig, known: DisruptionPolicies, overrides: Collection[str] = ()
) -> Preview:
    """`known` are the cluster's policies, `overrides` the sections whose changes it lets pass. Raises
    InvalidInput when a changed registries.conf has to be judged and cannot be parsed."""
    try:
        sides = target.pair(old, new)
    except InvalidInput as error:
        return _described(_unread(old), _unread(new), Disruption(), reason=secrets.masked_reason(str(error)))
    if reason := reconcile.refusal(*sides, overrides=overrides):
        return _described(*sides, Disruption(), reason=reason)
    effect = disruption.in_cluster(*sides, diff.compare(*sides), known)
    return _described(*sides, effect, refused=tuple(map(_refusal, refuse.problems(sides[1]))))


def _unread(side: MachineConfig) -> Target:
    return Target(side.name, side.spec, types.EMPTY)


def _described(
    old: Target, new: Target, effect: Disruption, *, reason: str = "", refused: tuple[Refusal, ...] = ()
) -> Preview:
    changes = diff.compare(old, new)
    before, after = old.spec, new.spec
    arguments = (before.kernel_arguments or (), after.kernel_arguments or ())
    extensions = (before.extensions or (), after.extensions or ())
    return Preview(
        old=old.name,
        new=new.name,
        reconcilable=not reason,
        reason=reason,
        refused=refused,
        files=files.of(old, new, changes),
        units=units.of(old, new, changes),
        passwd=accounts.of(old, new, changes),
        os=_image(before.os_image_url, after.os_image_url),
        kernel_arguments=parts.list_change(*arguments, secrets.masked) if changes.kernel_arguments else None,
        kernel_type=parts.change(diff.kernel_type(old), diff.kernel_type(new)),
        extensions=parts.list_change(*extensions) if changes.extensions else None,
        fips=parts.change(before.fips, after.fips),
        ignored=() if reason else tuple(_ignored(old, new)),
        actions=tuple(_action(action) for action in effect.actions),
        drain=effect.drain,
        drain_because=effect.drain_because,
        reboot=effect.reboot,
        because=effect.because,
    )


def _image(old: str, new: str) -> Change[str] | None:
    return None if old == new else Change(secrets.masked(old), secrets.masked(new))


def _action(action: disruption.PostAction) -> ActionLine:
    named = action.type in (policies.RELOAD, policies.RESTART)
    return ActionLine(action.type, action.service if named else "")


def _refusal(problem: InvalidInput) -> Refusal:
    return Refusal(problem.path, problem.message, problem.hint)


_UNREAD: Final = ("disks", "filesystems", "raid", "luks", "links")


def _ignored(old: Target, new: Target) -> Iterator[str]:
    before, after = old.config, new.config
    for section in _UNREAD:
        if getattr(before.storage, section) != getattr(after.storage, section):
            yield f"storage.{section}"
    if before.ignition != after.ignition:
        yield "ignition"
