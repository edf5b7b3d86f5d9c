"""Where the lab keeps things.

    $XDG_CACHE_HOME/mco/lab/       base roots, image layers, the program for machines: built once, shared
    $XDG_STATE_HOME/mco/lab/NAME/  what the instance NAME has made on this host, and its machines' states
    /run/mco-lab/                  what all instances of all users share: locks, host-wide settings
    DATA/machines/MACHINE/         a machine's disk

DATA belongs to whoever opens the lab. Without a home folder, or when it cannot be written, $TMPDIR/mco-UID
stands for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from mco.base.errors import InvalidInput, Unavailable

RUN = Path("/run/mco-lab")
DEFAULT_INSTANCE = "default"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")


def cache_folder() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache") / "mco" / "lab"


def registry_folder() -> Path:
    return state_home() / "mco" / "lab"


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


def state_home() -> Path:
    return _xdg("XDG_STATE_HOME", ".local/state")


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and ignored.
    if value.startswith("/"):
        return Path(value)
    home = _home()
    return home / default if home and _can_make(home / default) else homeless_folder() / default


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither $HOME nor an entry in passwd
        return None


def _can_make(folder: Path) -> bool:
    """Whether it can be written, or made below the nearest folder that exists."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(existing, os.W_OK | os.X_OK)


def homeless_folder() -> Path:
    """For a user who has no home folder that can be written, as a service account: the user's own folder
    among the temporary ones. Raises Unavailable when somebody else made it."""
    folder = Path(tempfile.gettempdir()) / f"mco-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise Unavailable(
            "there is no home folder that can be written, and its replacement is not private",
            path=str(folder),
            hint="remove it, or set XDG_STATE_HOME and XDG_CACHE_HOME to folders of your own",
        )
    return folder
