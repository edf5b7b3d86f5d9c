"""One instance of `mco up`: its folder, its ports, and what it was started with.

    $XDG_STATE_HOME/mco/instances/NAME/
        instance.json   ports, kept so that machines find the servers again
        api/            the API server's data, authority and admin kubeconfig
        identity/       kubeconfigs of the other components
        tls/            the config server's certificate
        logs/           one file per component
        machines/       what the lab keeps of the machines

A tour gets a folder of its own, `NAME.tour`, that is thrown away (design.md 10, processes).
"""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path

import msgspec

from mco.base.errors import InvalidInput
from mco.lab import paths
from mco.pki import files

TOUR_SUFFIX = ".tour"
_LOOPBACK = "127.0.0.1"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?\Z")


def discard_mark(folder: Path) -> Path:
    """The file in an instance's folder that says so to the process that runs it."""
    return folder / "discarded"


class Ports(msgspec.Struct, frozen=True):
    """`controller_metrics` and `configserver_metrics` are of the loopback address."""

    api: int
    config: int
    controller_metrics: int = 0
    configserver_metrics: int = 0


class Instance:
    """`folder` exists and is private. Raises InvalidInput for a name that cannot be one."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = check_name(name)
        self.folder = files.private_folder(folder)
        self.logs = files.private_folder(folder / "logs")
        self.identity = files.private_folder(folder / "identity")
        self.tls = files.private_folder(folder / "tls")
        self.api = folder / "api"
        self.machines = folder / "machines"
        # An earlier run's.
        discard_mark(folder).unlink(missing_ok=True)

    @property
    def discarded(self) -> bool:
        """Whether whoever stops it removes its data next: then nothing has to end in order."""
        return discard_mark(self.folder).exists()

    @property
    def kubeconfig(self) -> Path:
        return self.api / "kubeconfig"

    @property
    def has_machines(self) -> bool:
        """Whether there are any from before."""
        return self.machines.is_dir() and any(self.machines.iterdir())

    def ports(self, address: str) -> Ports:
        """The instance's ports: those of last time, or ones that are free on `address` now. No machine
        remembers those for metrics: others take the place of those that somebody has."""
        kept = self.folder / "instance.json"
        known = msgspec.json.decode(kept.read_bytes(), type=Ports) if kept.exists() else None
        api, config = (known.api, known.config) if known else _free(address, 2)
        metrics = (known.controller_metrics, known.configserver_metrics) if known else (0, 0)
        if not all(port and is_free(_LOOPBACK, port) for port in metrics):
            first, second = _free(_LOOPBACK, 2)
            metrics = (first, second)
        ports = Ports(api, config, *metrics)
        if ports != known:
            files.write(kept, msgspec.json.encode(ports))
        return ports


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None


def check_name(name: str) -> str:
    """Raises InvalidInput: a name is one part of a path, and of interface and cgroup names."""
    if not is_name(name):
        raise InvalidInput(
            f"{name!r} is not a valid instance name",
            hint="use up to 32 lower-case letters, digits and '-', beginning and ending with no '-'",
        )
    return name


def folder_of(name: str) -> Path:
    return instances_folder() / check_name(name)


def tour_folder_of(name: str) -> Path:
    return instances_folder() / f"{check_name(name)}{TOUR_SUFFIX}"


def lock_of(name: str) -> Path:
    return instances_folder() / f"{check_name(name)}.lock"


def instances_folder() -> Path:
    return paths.state_home() / "mco" / "instances"


def is_free(address: str, port: int) -> bool:
    try:
        socket.create_server((address, port)).close()
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True


def _free(address: str, count: int) -> list[int]:
    """Ports that the kernel gives out, all held until the last is known so that they differ."""
    sockets = [socket.create_server((address, 0)) for _ in range(count)]
    try:
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()
