"""The cgroup that holds one machine and nothing else.

Without a host systemd every container started with `--keep-unit` would land in the same group: two PID 1 in
one scope. So each machine gets its own folder in each hierarchy that systemd uses: the named v1 hierarchy
and the unified one where cgroups are hybrid, the unified one alone elsewhere. With a host systemd the group
is a delegated scope, which `systemd-run` makes.

The group is also how a machine is killed and cleaned up: it is recorded before anything runs in it, and every
process of the machine is a member.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mco.base.errors import HostError, Unsupported

_PREFIX = "mcolab-"


def host_has_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def scope_name(tag: str, number: int) -> str:
    return f"{_PREFIX}{tag}-{number}.scope"


def paths_for(tag: str, number: int, *, controllers: bool = False) -> tuple[Path, ...]:
    """The folders of a machine's group, one per hierarchy that systemd uses, or with `controllers` in every
    one; none of them is made here."""
    if host_has_systemd():
        return tuple(mount / "system.slice" / scope_name(tag, number) for mount, _ in _hierarchies())
    hierarchies = [*_hierarchies(), *(_controllers() if controllers else ())]
    return tuple(mount / own.lstrip("/") / f"{_PREFIX}{tag}-{number}" for mount, own in hierarchies)


def _controllers() -> list[tuple[Path, str]]:
    """The v1 hierarchies of resource controllers, as `_hierarchies`."""
    own = {frozenset(names.split(",")): path for names, path in _own_groups()}
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, after = line.partition(" - ")
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup":
            found += [
                (Path(fields.split()[4]), path)
                for names, path in own.items()
                if names <= {*options.split(",")} and not any(name.startswith("name=") for name in names)
            ]
    return found


def _hierarchies() -> list[tuple[Path, str]]:
    """Mount point of each hierarchy that systemd uses, with the group of this process in it."""
    own = dict(_own_groups())
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, after = line.partition(" - ")
        mount, (kind, _, options) = Path(fields.split()[4]), after.split(maxsplit=2)
        if kind == "cgroup2":
            found.append((mount, own.get("", "/")))
        elif kind == "cgroup" and "name=systemd" in options.split(","):
            found.append((mount, own.get("name=systemd", "/")))
    if not found:
        raise Unsupported(
            "no cgroup hierarchy that systemd can use is mounted",
            hint="mount -t cgroup2 cgroup2 /sys/fs/cgroup",
        )
    return found


def _own_groups() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def make(paths: Sequence[Path]) -> None:
    """Makes the folders anew: what a former boot left below them slows the next one down by seconds."""
    remove(paths)
    for path in paths:
        path.mkdir()
        # A cpuset begins empty, and nothing can run in it.
        for name in ("cpuset.cpus", "cpuset.mems"):
            with contextlib.suppress(FileNotFoundError, PermissionError):
                (path / name).write_text((path.parent / name).read_text())


def members(paths: Sequence[Path]) -> set[int]:
    """Every process in the group and below, by its pid on the host."""
    pids: set[int] = set()
    for path in paths:
        for folder, _, _ in os.walk(path):
            with contextlib.suppress(OSError):
                pids.update(int(pid) for pid in Path(folder, "cgroup.procs").read_text().split())
    return pids - {0}


def leader(paths: Sequence[Path]) -> int:
    """The host's pid of the machine's PID 1, or 0 while there is none."""
    for path in paths:
        with contextlib.suppress(OSError):
            for pid in (path / "payload" / "init.scope" / "cgroup.procs").read_text().split():
                if _pids(int(pid))[-1:] == [1]:
                    return int(pid)
    return 0


def _pids(pid: int) -> list[int]:
    """Of one process in each of its pid namespaces, outermost first."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return [int(number) for number in line.split()[1:]]
    return []


def kill(paths: Sequence[Path], *, timeout: float = 10.0) -> None:
    """Kills every process of the group and waits until they are gone. Raises HostError."""
    deadline = time.monotonic() + timeout
    while pids := members(paths):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise HostError(f"processes survive SIGKILL: {sorted(pids)}", path=str(paths[0]))
        kill_processes(pids, timeout=remaining)


def kill_processes(pids: set[int], *, timeout: float) -> None:
    """Kills these processes at once and waits until they are dead, at most `timeout` seconds."""
    # The launcher before the machine's PID 1: it shall be killed itself, not report the other's death.
    ordered = sorted(pids, key=lambda pid: len(_pids(pid)))
    descriptors = [fd for pid in ordered if (fd := _open(pid)) >= 0]
    poll = select.poll()
    try:
        for fd in descriptors:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            poll.register(fd, select.POLLIN)
        alive, deadline = set(descriptors), time.monotonic() + timeout
        while alive and (dead := poll.poll(max(0.0, deadline - time.monotonic()) * 1000)):
            for fd, _ in dead:
                poll.unregister(fd)
                alive.discard(fd)
    finally:
        for fd in descriptors:
            os.close(fd)


def _open(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return -1


def remove(paths: Sequence[Path], *, timeout: float = 5.0) -> None:
    """Removes the group's folders, deepest first. Raises HostError if a process still lives there."""
    deadline = time.monotonic() + timeout
    for path in paths:
        for folder, _, _ in os.walk(path, topdown=False):
            _remove_folder(Path(folder), deadline)


def _remove_folder(folder: Path, deadline: float) -> None:
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            # A process that has just exited is counted for a moment longer.
            if time.monotonic() > deadline:
                raise HostError(f"cgroup cannot be removed: {error.strerror}", path=str(folder)) from error
            time.sleep(0.01)
        else:
            return
