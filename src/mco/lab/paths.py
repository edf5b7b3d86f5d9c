"""Where the lab keeps things.

    $XDG_CACHE_HOME/mco/lab/       base roots, image layers, the program for machines: built once, shared
    $XDG_STATE_HOME/mco/lab/NAME/  what the instance NAME has made on this host, and its machines' states
    /run/mco-lab/                  what all instances of all users share: locks, host-wide settings
    DATA/machines/MACHINE/         a machine's disk

DATA belongs to whoever opens the lab.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from mco.base.errors import InvalidInput

RUN = Path("/run/mco-lab")
DEFAULT_INSTANCE = "default"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")


def cache_folder() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache") / "mco" / "lab"


def registry_folder() -> Path:
    return _xdg("XDG_STATE_HOME", ".local/state") / "mco" / "lab"


def instance_folder(instance: str) -> Path:
    return registry_folder() / check_name(instance, "instance")


def instance_tag(instance: str) -> str:
    """Six characters that tell this instance's interfaces and cgroups from every other's on the host, those
    of an instance with the same name of another user too."""
    return hashlib.sha256(os.fsencode(instance_folder(instance))).hexdigest()[:6]


def check_name(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is not a valid {what} name",
            subject=f"{what}/{name}",
            hint="lower-case letters, digits and '-', beginning and ending with a letter or digit",
        )
    return name


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and ignored.
    return Path(value) if value.startswith("/") else Path.home() / default
