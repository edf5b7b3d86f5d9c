"""Rebooting the machine (spec/daemon.md 6.20)."""

from __future__ import annotations

from collections.abc import Sequence

from mco.host.commands import Commands

REBOOT_UNIT = "machine-config-daemon-reboot"


def reboot(commands: Commands, reason: str, after: Sequence[str] = ()) -> None:
    """Returns when the reboot is queued; this process gets SIGTERM a moment later. A transient unit does it,
    so that it goes on when the daemon's own unit or container is stopped. `after` names units that must have
    finished before, as the one that finalizes a staged operating system. Raises CommandError."""
    # A unit of this name that failed is in the way of the next; that there is none is no error.
    commands.attempt("systemctl", "reset-failed", f"{REBOOT_UNIT}.service")
    order = [option for unit in after for option in ("-p", f"Requires={unit}", "-p", f"After={unit}")]
    description = "machine-config-daemon: " + " ".join(reason.split())
    commands.run(
        "systemd-run",
        "--unit",
        REBOOT_UNIT,
        "--collect",
        "--description",
        description,
        *order,
        "/bin/sh",
        "-c",
        "systemctl reboot",
    )
