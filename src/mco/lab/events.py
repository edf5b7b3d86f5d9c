"""What happens to the machines, as values: for progress on a screen, for a log, for tests to wait on."""

from __future__ import annotations

import enum
from collections.abc import Callable

import msgspec


class State(enum.StrEnum):
    CREATED = "created"  # it has a disk, and has never run Ignition
    PROVISIONING = "provisioning"  # Ignition fetches and applies its config
    BOOTING = "booting"
    RUNNING = "running"  # systemd has reached its default target
    REBOOTING = "rebooting"
    CRASHED = "crashed"  # it was killed
    STOPPED = "stopped"  # it powered itself off, or was asked to
    FAILED = "failed"  # it cannot start; the message says why


class MachineEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`elapsed` in seconds since the machine was asked to start; `boots` counts starts of its systemd."""

    machine: str
    state: State
    boots: int
    elapsed: float
    message: str = ""


Listener = Callable[[MachineEvent], None]
