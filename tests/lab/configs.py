"""Ignition configs as our config server writes them, spec 3.3.0."""

from __future__ import annotations

from typing import Any

_UNIT = """\
[Unit]
Description=Greets
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'cat /etc/greeting >/run/greeted'
[Install]
WantedBy=multi-user.target
"""


def greeting(key: str = "ssh-ed25519 AAAA test") -> dict[str, Any]:
    """A file, a unit with a drop-in, a key."""
    unit = {
        "name": "greet.service",
        "enabled": True,
        "contents": _UNIT,
        "dropins": [{"name": "10-more.conf", "contents": "[Service]\nEnvironment=MORE=yes\n"}],
    }
    greeting = {
        "path": "/etc/greeting",
        "mode": 0o640,
        "overwrite": True,
        "user": {"id": 0},
        "group": {"name": "core"},
        "contents": {"source": "data:,Hello%2C%20world!"},
    }
    return {
        "ignition": {"version": "3.3.0"},
        "storage": {"files": [greeting]},
        "systemd": {"units": [unit]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key]}]},
    }
