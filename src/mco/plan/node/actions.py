"""The actions that make one config out of another on a node's disk, as values.

An action says what shall be true afterwards, never how; it can be done again after a crash with the same
result. `describe()` is for logs, events and previews: it never shows contents, keys or hashes (design.md
10, secrets).
"""

from __future__ import annotations

import msgspec

from mco.ignition.types import Resource

UNIT_FOLDER = "/etc/systemd/system"


class Owner(msgspec.Struct, frozen=True):
    """A user or group by number or by name; the number wins (spec/daemon.md 6.8)."""

    id: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return str(self.id) if self.id is not None else self.name


ROOT = Owner(id=0)


class Action(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of all of them."""

    def describe(self) -> str:
        raise NotImplementedError


class WriteFile(Action, frozen=True, kw_only=True):
    """`known`: the config before had this path as well, so that what is there is no original."""

    path: str
    contents: Resource
    mode: int
    user: Owner = ROOT
    group: Owner = ROOT
    known: bool = False

    def describe(self) -> str:
        return f"write {self.path} ({self.mode:04o}, {self.user}:{self.group})"


class RemoveFile(Action, frozen=True, kw_only=True):
    """Brings back the original that the first write put aside, where there was one."""

    path: str

    def describe(self) -> str:
        return f"remove {self.path}"


class WriteUnit(Action, frozen=True, kw_only=True):
    name: str
    contents: str
    known: bool = False

    @property
    def path(self) -> str:
        return unit_path(self.name)

    def describe(self) -> str:
        return f"write unit {self.name}"


class MaskUnit(Action, frozen=True, kw_only=True):
    name: str
    known: bool = False

    @property
    def path(self) -> str:
        return unit_path(self.name)

    def describe(self) -> str:
        return f"mask unit {self.name}"


class RemoveUnit(Action, frozen=True, kw_only=True):
    """Takes the unit's own file (or mask) away; `disable`: its links go first, because nothing defines it any
    more. A unit of the same name that the OS image brings comes back as its presets want it."""

    name: str
    disable: bool = True

    @property
    def path(self) -> str:
        return unit_path(self.name)

    def describe(self) -> str:
        return f"remove unit {self.name}"


class WriteDropin(Action, frozen=True, kw_only=True):
    unit: str
    name: str
    contents: str
    known: bool = False

    @property
    def path(self) -> str:
        return dropin_path(self.unit, self.name)

    def describe(self) -> str:
        return f"write drop-in {self.name} of unit {self.unit}"


class RemoveDropin(Action, frozen=True, kw_only=True):
    unit: str
    name: str

    @property
    def path(self) -> str:
        return dropin_path(self.unit, self.name)

    def describe(self) -> str:
        return f"remove drop-in {self.name} of unit {self.unit}"


class EnableUnits(Action, frozen=True, kw_only=True):
    """`defined`: those with contents of their own; of the others only what the machine knows is enabled."""

    names: tuple[str, ...]
    defined: frozenset[str] = frozenset()

    def describe(self) -> str:
        return f"enable {', '.join(self.names)}"


class DisableUnits(Action, frozen=True, kw_only=True):
    names: tuple[str, ...]
    defined: frozenset[str] = frozenset()

    def describe(self) -> str:
        return f"disable {', '.join(self.names)}"


class PresetUnit(Action, frozen=True, kw_only=True):
    """Enable or disable as the machine's presets say; a failure is only logged (spec/daemon.md 6.9)."""

    name: str

    def describe(self) -> str:
        return f"reset unit {self.name} to its preset"


class SetSSHKeys(Action, frozen=True, kw_only=True):
    user: str
    keys: tuple[str, ...]

    def describe(self) -> str:
        count = len(self.keys)
        return f"set {count} SSH key{'' if count == 1 else 's'} of {self.user}"


class SetPasswordHash(Action, frozen=True, kw_only=True):
    """`hash` `*` locks the password."""

    user: str
    hash: str

    def describe(self) -> str:
        return f"{'lock' if self.hash == LOCKED else 'set'} the password of {self.user}"


class SetKernelArguments(Action, frozen=True, kw_only=True):
    """What the boot loader passes at the next boot: `old` words go, `new` words come."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    def describe(self) -> str:
        if not self.new:
            return f"remove kernel arguments {' '.join(self.old)}"
        return f"set kernel arguments {' '.join(self.new)}"


class RecordConfig(Action, frozen=True, kw_only=True):
    """The node's own note of which config its disk holds; the last action of every update."""

    name: str

    def describe(self) -> str:
        return f"record {self.name} as the config on disk"


LOCKED = "*"

AnyAction = (
    WriteFile
    | RemoveFile
    | WriteUnit
    | MaskUnit
    | RemoveUnit
    | WriteDropin
    | RemoveDropin
    | EnableUnits
    | DisableUnits
    | PresetUnit
    | SetSSHKeys
    | SetPasswordHash
    | SetKernelArguments
    | RecordConfig
)


def unit_path(name: str) -> str:
    return f"{UNIT_FOLDER}/{name}"


def dropin_path(unit: str, name: str) -> str:
    return f"{UNIT_FOLDER}/{unit}.d/{name}"
