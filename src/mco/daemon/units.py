"""The systemd units with which a machine runs this program; whoever builds a machine's root writes them
there."""

from __future__ import annotations

from mco.api import names

PROGRAM = "/opt/mco/bin/mco"
FIRSTBOOT_SERVICE = "mco-firstboot.service"
DAEMON_SERVICE = "mco-daemon.service"


def firstboot(program: str = PROGRAM) -> str:
    """Runs once, before the daemon, as long as the first boot is not complete."""
    return f"""\
[Unit]
Description=Machine config: complete the first boot
ConditionPathExists={names.ENCAPSULATED_FILE}
Before={DAEMON_SERVICE}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={program} daemon firstboot
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
"""


def daemon(program: str = PROGRAM, *arguments: str) -> str:
    """Restarts whatever happens; a stop may take as long as the actions of an update do."""
    command = " ".join((program, "daemon", "start", "--register-node", *arguments))
    return f"""\
[Unit]
Description=Machine config daemon
Wants=network-online.target
After=network-online.target {FIRSTBOOT_SERVICE}
ConditionPathExists=!{names.ENCAPSULATED_FILE}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
# One arena: what the worker thread frees serves the others too.
Environment=MALLOC_ARENA_MAX=1
ExecStart={command}
Restart=always
RestartSec=1
WatchdogSec=120
TimeoutStopSec=600
KillMode=mixed

[Install]
WantedBy=multi-user.target
"""


def files(program: str = PROGRAM, *arguments: str) -> dict[str, str]:
    """Unit files by name."""
    return {FIRSTBOOT_SERVICE: firstboot(program), DAEMON_SERVICE: daemon(program, *arguments)}
