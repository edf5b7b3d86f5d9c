"""What other processes may know about a running machine: one small file per machine in the instance's folder.

`mco lab exec`, `logs`, `crash` and `list` work from it, beside the process that supervises the machine.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from mco.base.errors import NotFound, Unavailable
from mco.lab import cgroups, cleanup, paths
from mco.lab.events import State
from mco.lab.locks import is_held


class Record(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: State
    boots: int
    address: str
    groups: tuple[str, ...]
    console: str
    ignition_log: str

    def kill(self) -> None:
        """Kills everything in the machine at once, as a power failure would."""
        self.leader()
        cgroups.kill_processes(cgroups.members([Path(group) for group in self.groups]), timeout=10.0)

    def leader(self) -> int:
        """The host's pid of the machine's PID 1. Raises Unavailable while it is down."""
        pid = cgroups.leader([Path(group) for group in self.groups])
        if not pid:
            raise Unavailable(
                "the machine is not running", subject=f"machine/{self.name}", hint="mco lab list"
            )
        return pid


def write(instance: str, record: Record) -> None:
    path = _path(instance, record.name)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(record))
    temporary.rename(path)


def remove(instance: str, name: str) -> None:
    _path(instance, name).unlink(missing_ok=True)


def read(instance: str, name: str) -> Record:
    """Raises NotFound."""
    paths.check_name(name, "machine")
    records = read_all(instance)
    for record in records:
        if record.name == name:
            return record
    known = ", ".join(record.name for record in records) or "none"
    raise NotFound(
        f'machine "{name}" not found',
        subject=f"machine/{name}",
        hint=f"machines of instance {instance}: {known}; another instance: --name NAME",
    )


def read_all(instance: str) -> list[Record]:
    """Sorted by name. When nobody runs the instance, its machines are stopped, whatever was written last."""
    folder = paths.instance_folder(instance)
    alive = is_held(folder / cleanup.LOCK)
    records = []
    for path in sorted((folder / "machines").glob("*.json")):
        with contextlib.suppress(FileNotFoundError):
            record = msgspec.json.decode(path.read_bytes(), type=Record)
            records.append(record if alive else msgspec.structs.replace(record, state=State.STOPPED))
    return records


def _path(instance: str, name: str) -> Path:
    return paths.instance_folder(instance) / "machines" / f"{name}.json"
