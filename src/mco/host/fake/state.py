"""What a directory-rooted host remembers beside its files: units that run, boots, a reboot that is due."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class UnitState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As `systemctl show` words them. `starts` counts since boot."""

    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    starts: int = 0
    reloads: int = 0


class MachineState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`pending` is why a reboot was asked for that has not happened yet."""

    boots: int = 0
    pending: str | None = None
    units: dict[str, UnitState] = {}


class StateFile:
    """One small JSON file, replaced as a whole, so that a killed process leaves the old or the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> MachineState:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=MachineState)
        except FileNotFoundError:
            return MachineState()

    def write(self, state: MachineState) -> None:
        new = self.path.with_suffix(f".{os.getpid()}")
        new.write_bytes(msgspec.json.encode(state))
        new.replace(self.path)

    def set_unit(self, name: str, unit: UnitState) -> None:
        state = self.read()
        self.write(msgspec.structs.replace(state, units={**state.units, name: unit}))
