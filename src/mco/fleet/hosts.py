"""The machines of a fleet, whatever they are made of.

Real ones boot systemd under nspawn and get their config through the real Ignition engine (`lab`). Where the
host cannot do that, directory-rooted ones run the same daemon on a folder each (`folders`).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from mco.lab.firstboot import Source


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`mode` is octal text, `owner` is `user:group`."""

    data: bytes
    mode: str
    owner: str


class UnitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """As the service manager of the machine reports them."""

    active: str
    enabled: str
    dropins: tuple[str, ...] = ()


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """Where a machine stands in its own life; `boots` counts starts of its system."""

    text: str
    boots: int
    note: str = ""


OFF = Phase(text="off", boots=0)
"""A machine that was not started yet."""


class Machine(Protocol):
    """Raises MCOError while the machine cannot be asked."""

    name: str

    async def file(self, path: str) -> FileFacts: ...
    async def unit(self, name: str) -> UnitFacts: ...
    async def kernel_arguments(self) -> str: ...
    async def boot_id(self) -> str: ...
    async def login(self, key: str) -> str:
        """What `id -un` says over SSH with the private key in the file `key`."""


class Hosts(Protocol):
    """`address` is where machines reach servers of this host."""

    real: bool
    address: str

    def start(self, name: str, source: Source) -> Machine:
        """Brings a machine to life, with the disk it had if there is one."""

    def known(self) -> list[str]:
        """Machines that have a disk from before."""

    def phase(self, name: str) -> Phase: ...
