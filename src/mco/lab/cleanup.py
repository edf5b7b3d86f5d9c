"""Undoing what the ledgers hold: at the end of a run, after a crash, and at the next run for what a SIGKILL
left.

Nothing is found by searching the host: only entries of an instance whose lock this process holds are
undone, so what other instances own is never touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from mco.base.errors import Conflict, HostError
from mco.lab import cgroups, kept, network, paths, settings
from mco.lab.commands import start_time
from mco.lab.ledger import AnyEntry, Bridge, Cgroup, Folder, Ledger, Process, Settings
from mco.lab.locks import Lock

LOCK, LEDGER = "lock", "ledger"

Report = Callable[[str], None]


def clean(ledger: Ledger, report: Report) -> None:
    """Undoes every entry, the latest first. What fails stays in the ledger for the next run; the others are
    undone all the same. Raises HostError with the first failure."""
    first: OSError | HostError | None = None
    for entry in reversed(ledger.entries):
        try:
            undo(entry)
        except (OSError, HostError) as error:
            report(f"cannot clean up {entry}: {error}")
            first = first or error
        else:
            ledger.remove(entry)
    if isinstance(first, HostError):
        raise first
    if first is not None:
        raise HostError(f"cannot clean up: {first.strerror}", path=str(first.filename or "")) from first


def sweep(report: Report) -> list[str]:
    """Cleans up after every instance of this user that left entries behind and that nobody runs. Answers
    their names."""
    swept = []
    root = paths.registry_folder()
    for ledger in sorted(root.glob(f"*/{LEDGER}")):
        with contextlib.suppress(Conflict), Lock(ledger.parent / LOCK, blocking=False, purpose="cleaning"):
            report(f"cleaning up what instance {ledger.parent.name} left behind")
            with contextlib.suppress(HostError):  # reported; tried again by the next run
                clean(Ledger(ledger), report)
                forget_if_lost(ledger.parent)
                swept.append(ledger.parent.name)
    return swept


def forget_if_lost(instance: Path) -> None:
    """Removes the folder of an instance whose disks are gone, and frees its subnet with it."""
    found = kept.read(instance)
    if found is None or not Path(found.data).exists():
        shutil.rmtree(instance)


def undo(entry: AnyEntry) -> None:
    """Idempotent: a thing that does not exist is undone."""
    match entry:
        case Cgroup(paths=names):
            groups = [Path(name) for name in names]
            cgroups.kill(groups)
            cgroups.remove(groups)
        case Bridge(name=name):
            network.delete(name)
        case Folder(path=path):
            _remove_folder(Path(path))
        case Process():
            _end(entry)
        case Settings(instance=instance):
            settings.drop(instance)


def _remove_folder(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(process.pid)
        try:
            if process.boot_id == boot_id() and start_time(process.pid) == process.started:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        finally:
            os.close(fd)


def boot_id() -> str:
    """The host's."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
