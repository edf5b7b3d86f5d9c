"""The command that starts a machine, or a program on its disk.

Everything mounted for a machine is mounted in a mount namespace of the started process: the host never sees
it, and it is gone with the last process however that ends. The process dies with the one that started it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from mco.lab import cgroups
from mco.lab.commands import PATH
from mco.lab.disk import Disk
from mco.lab.opt import Program
from mco.lab.shape import Shape

# Where a machine's disk is mounted. Every part of the path is open to all, because the engine drops to the
# user's id to write into a home folder; the machine's own folder is not.
ROOT = Path("/run/systemd/mco-lab-root")

# nspawn wants a tmpfs at /run/systemd/nspawn, which only a host with systemd has. The layers are named by
# relative paths: a colon or comma in a folder's name would break the overlay's options.
_MOUNT = f"""\
cd "$1"; shift
mkdir -p {ROOT.parent}
mount -t tmpfs -o mode=0755 tmpfs {ROOT.parent}
mkdir {ROOT.parent}/nspawn {ROOT}
mount -t overlay overlay -o lowerdir=image:base,upperdir=upper,workdir=work {ROOT}
mount --bind boot {ROOT}/boot
exec "$@"
"""

_ENTER_CGROUP = """\
while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs"; shift; done
shift
exec "$@"
"""

_DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
# nspawn's own children outlive it: as the first process of a pid namespace it takes them with it.
_OWN_NAMESPACES = (
    *("unshare", "--mount", "--propagation", "private"),
    *("--pid", "--fork", "--kill-child", "--mount-proc"),
)


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What nspawn needs to know. `machine_id` is the name that it derives the interface's name from: `vb-`
    and this have to fit 15 characters."""

    machine_id: str
    hostname: str
    disk: Disk
    groups: tuple[Path, ...]
    scope: str
    bridge: str
    program: Program
    shape: Shape


def on_disk(disk: Disk, argv: Sequence[str]) -> list[str]:
    """Runs `argv` on the host with the machine's disk mounted at `ROOT`."""
    return [*_DIE_WITH_PARENT, *_mount(disk), *argv]


def boot(launch: Launch) -> list[str]:
    return [*_DIE_WITH_PARENT, *_enter_group(launch), *_mount(launch.disk), *_nspawn(launch)]


def _enter_group(launch: Launch) -> list[str]:
    if cgroups.host_has_systemd():
        scope = [
            "systemd-run",
            "--quiet",
            "--collect",
            "--scope",
            "--slice=system.slice",
            f"--unit={launch.scope}",
        ]
        return [*scope, "--property=Delegate=yes", "--"]
    return [*_sh(_ENTER_CGROUP), *(str(group) for group in launch.groups), "--"]


def _mount(disk: Disk) -> list[str]:
    return [*_OWN_NAMESPACES, *_sh(_MOUNT), str(disk.folder)]


def _nspawn(launch: Launch) -> list[str]:
    return [
        "systemd-nspawn",
        "--quiet",
        "--settings=no",
        f"--directory={ROOT}",
        f"--machine={launch.machine_id}",
        f"--hostname={launch.hostname}",
        "--boot",
        "--notify-ready=yes",
        "--register=no",
        "--keep-unit",
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        f"--network-bridge={launch.bridge}",
        f"--bind={_escape(launch.disk.boot)}:/boot",
        f"--bind-ro={_escape(launch.disk.lab)}:/lab",
        f"--bind-ro={_escape(launch.program.program)}:/opt/mco",
        f"--bind-ro={_escape(launch.program.site)}:/opt/mco/site-packages",
        *(f"--bind-ro={_escape(path)}:{inside}" for inside, path in launch.shape.binds.items()),
        *(f"--bind={_escape(launch.disk.volume(inside))}:{inside}" for inside in launch.shape.volumes),
        *launch.shape.options,
    ]


def _escape(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(":", "\\:")


def _sh(script: str) -> list[str]:
    return ["sh", "-euc", script, "sh"]


def enter(leader: int, terminal: str = "") -> list[str]:
    """The beginning of a command line that runs in the machine whose PID 1 is `leader`; `terminal` is the
    type of the terminal that it runs on."""
    namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid"]
    environment = [f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", *([f"TERM={terminal}"] if terminal else [])]
    return [
        "nsenter",
        "--target",
        str(leader),
        *namespaces,
        "--root",
        "--wd",
        "--",
        "env",
        "-i",
        *environment,
    ]
