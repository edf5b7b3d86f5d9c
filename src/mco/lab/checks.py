"""Can this host run real machines? A list of named checks, each with what was found and what to do about it.

`mco up` runs real machines if all of them hold, and otherwise says why it does not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import msgspec

from mco.base.errors import HostError, Unsupported
from mco.lab import base, cgroups, firstboot, opt, paths
from mco.lab.commands import PATH, run


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """`found` says why it does not hold; empty when it does."""

    name: str
    found: str
    remedy: str

    @property
    def holds(self) -> bool:
        return not self.found


def check_host() -> list[Check]:
    """All checks, in an order in which the first failing one is the one to begin with."""
    return [Check(name=name, found=probe(), remedy=remedy) for name, probe, remedy in _CHECKS]


def missing() -> list[Check]:
    """The checks that fail; empty if real machines can run here."""
    return [check for check in check_host() if not check.holds]


def _root() -> str:
    return "" if os.geteuid() == 0 else f"the user id is {os.geteuid()}"


def _program(*names: str) -> Callable[[], str]:
    def probe() -> str:
        lacking = [name for name in names if not shutil.which(name, path=PATH)]
        return f"{', '.join(lacking)} not found" if lacking else ""

    return probe


def _mmdebstrap() -> str:
    if (paths.cache_folder() / f"base-{base.Recipe().key}").is_dir():
        return ""  # the base root is built already
    return _program("mmdebstrap")()


def _engine() -> str:
    return "" if firstboot.engine() else "no Ignition engine found"


def _setfiles() -> str:
    # Not on a user's path.
    found = any(os.access(f"{folder}/setfiles", os.X_OK) for folder in ("/sbin", "/usr/sbin"))
    return "" if found else "setfiles not found"


def _cgroups() -> str:
    try:
        groups = cgroups.paths_for("probe", 0)
    except Unsupported as error:
        return error.message
    closed = [str(path) for path in groups if not os.access(path.parents[0], os.W_OK)]
    return "" if cgroups.host_has_systemd() or not closed else f"{closed[0]} cannot be made"


def _overlay() -> str:
    """A real mount, in a mount namespace that ends with it."""
    folder = paths.cache_folder() / f"probe-{os.getpid()}"
    script = 'cd "$1"; mount -t overlay overlay -o lowerdir=a:b,upperdir=c,workdir=d e; touch e/f'
    try:
        for name in "abcde":
            (folder / name).mkdir(parents=True)
        run(["unshare", "--mount", "--propagation", "private", "sh", "-euc", script, "sh", str(folder)])
    except (OSError, HostError) as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _bridge() -> str:
    """In a network namespace that ends with it."""
    try:
        run(["unshare", "--net", "ip", "link", "add", "probe", "type", "bridge"])
    except (OSError, HostError) as error:
        return str(error)
    return ""


def _packages() -> str:
    try:
        opt.site_key()
    except Unsupported as error:
        return error.message
    return ""


_APT = "apt-get install {}".format
_CHECKS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("root", _root, "run it as root: sudo mco up"),
    ("systemd-nspawn", _program("systemd-nspawn"), _APT("systemd-container")),
    ("mmdebstrap", _mmdebstrap, _APT("mmdebstrap")),
    ("ignition", _engine, _APT("ignition")),
    ("setfiles", _setfiles, _APT("policycoreutils")),
    ("ip", _program("ip"), _APT("iproute2")),
    ("namespaces", _program("unshare", "nsenter", "setpriv"), _APT("util-linux")),
    ("cgroups", _cgroups, "mount -t cgroup2 cgroup2 /sys/fs/cgroup; in a container: run it privileged"),
    ("overlayfs", _overlay, "set XDG_CACHE_HOME and XDG_STATE_HOME to folders on ext4 or xfs"),
    ("bridge", _bridge, "load the kernel module: modprobe bridge; in a container: run it privileged"),
    ("packages", _packages, "run scripts/setup in a checkout, or mco with Python 3.11"),
)
