"""An instance of the lab: its machines, their network, and everything else that they need on this host."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec

from mco.base.errors import Conflict
from mco.lab import base, cache, cleanup, image, kept, network, opt, paths, record, settings
from mco.lab.commands import in_thread
from mco.lab.disk import Disk
from mco.lab.events import Listener, MachineEvent
from mco.lab.firstboot import Source
from mco.lab.kept import Kept
from mco.lab.ledger import Bridge, Folder, Ledger, Settings
from mco.lab.locks import Lock, purpose
from mco.lab.machine import Machine
from mco.lab.shape import ORDINARY, Shape
from mco.lab.site import Site

# A holder says what it holds the lock for just after it has got it.
_SETTLE_SECONDS = 0.5


def _ignore(event: MachineEvent) -> None:
    del event


class Lab:
    """Made by `open_lab`."""

    def __init__(self, site: Site, folder: Path, data: Path, own: Kept) -> None:
        self._site = site
        self._folder = folder
        self._data = data
        self._kept = own
        self.machines: dict[str, Machine] = {}

    @property
    def network(self) -> network.Network:
        return self._site.network

    @property
    def ledger(self) -> Ledger:
        """For what the caller makes besides machines: folders, processes."""
        return self._site.ledger

    def machine(
        self,
        name: str,
        source: Source | None,
        *,
        arguments: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> Machine:
        """A machine of this name, the same disk as before if there is one. `source` is where its first boot
        gets its config, None for a machine without any; `arguments` are added to its first kernel command
        line; `files` are in its folder /lab, by name."""
        paths.check_name(name, "machine")
        if name in self.machines:
            raise Conflict(f'machine "{name}" exists already', subject=f"machine/{name}")
        machine = Machine(self._site, name, self.number(name), self._disk(name), source, arguments, files)
        self.machines[name] = machine
        return machine

    async def remove(self, name: str) -> None:
        """Ends the machine and erases its disk."""
        machine = self.machines.pop(name)
        await machine.kill()
        record.remove(self._site.instance, name)
        await in_thread(shutil.rmtree, machine.disk.folder, ignore_errors=True)

    def known(self) -> list[str]:
        """Machines that have a disk, from before too."""
        return [name for name in self._kept.machines if self._disk(name).folder.is_dir()]

    def _disk(self, name: str) -> Disk:
        return Disk(folder=self._data / "machines" / name)

    def number(self, name: str) -> int:
        """Counts from 0, and is the machine's for good: its addresses follow from it."""
        if name not in self._kept.machines:
            self._kept = msgspec.structs.replace(self._kept, machines=(*self._kept.machines, name))
            kept.write(self._folder, self._kept)
        return self._kept.machines.index(name)

    async def stop(self, *, in_order: bool) -> None:
        """Ends all machines: shut down in order, or killed."""
        await asyncio.gather(
            *(machine.poweroff() if in_order else machine.kill() for machine in self.machines.values())
        )

    def abandon(self) -> None:
        """Lets go of all machines at once; what is left of them is cleaned up by whoever closes the lab."""
        for machine in self.machines.values():
            machine.abandon()


@contextlib.asynccontextmanager
async def open_lab(
    instance: str,
    data: Path,
    *,
    units: Mapping[str, str] | None = None,
    shape: Shape = ORDINARY,
    throw_away: bool = False,
    listen: Listener = _ignore,
    progress: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Lab]:
    """Prepares the host for machines and puts it back afterwards, on every way out.

    `data` holds the machines' disks and is kept unless `throw_away`; `units` are systemd units of the
    image, by name; `shape` is what makes machines more than ordinary ones. `progress` gets lines for a
    person, `listen` the machines' events. At the end machines that still run are shut down in order, or
    killed if their disks are thrown away. Raises Conflict if the instance runs already.
    """
    lock = await _lock(instance)
    folder = lock.path.parent
    with lock:
        ledger = Ledger(folder / cleanup.LEDGER)
        await in_thread(cleanup.clean, ledger, progress)
        await in_thread(cleanup.sweep, progress)
        try:
            root = await base.build(base.recipe_from_environment(shape.packages), progress)
            layer = image.Layer(units=units or {}, shape=shape)
            lab = await in_thread(_prepare, instance, data, ledger, root, layer, throw_away, listen)
            try:
                yield lab
            finally:
                try:
                    await lab.stop(in_order=not throw_away)
                finally:
                    lab.abandon()
        finally:
            # Not in a thread: nothing, not even a second Ctrl-C, comes in between.
            _put_back(folder, ledger, throw_away, progress)


async def _lock(instance: str) -> Lock:
    """Another run that cleans up after the instance is waited for: that takes a moment."""
    path = paths.instance_folder(instance) / cleanup.LOCK
    until = time.monotonic() + _SETTLE_SECONDS
    while True:
        try:
            return Lock(path, blocking=False, purpose="running")
        except Conflict:
            if purpose(path) == "running" and time.monotonic() > until:
                raise Conflict(
                    f'instance "{instance}" runs already',
                    path=str(path),
                    hint="another one beside it: --name NAME",
                ) from None
        await asyncio.sleep(0.1)


def _prepare(
    instance: str,
    data: Path,
    ledger: Ledger,
    root: Path,
    wanted: image.Layer,
    throw_away: bool,
    listen: Listener,
) -> Lab:
    folder = ledger.path.parent
    own = kept.read(folder)
    if own is None or own.data != str(data):
        own = Kept(data=str(data), subnet="")
    if throw_away:
        ledger.add(Folder(path=str(data)))
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    ledger.add(Settings(instance=str(folder / cleanup.LOCK)))
    settings.raise_for(folder / cleanup.LOCK, wanted.shape.settings)
    tag = paths.instance_tag(instance)
    bridge = network.bridge_name(tag)
    ledger.add(Bridge(name=bridge))
    net = network.create(bridge, own.subnet, [other.subnet for other in kept.others(folder)])
    layer, program = image.build(wanted), opt.build(root)
    uses = (root, layer, program.program, program.site)
    cache.use(*uses)
    own = msgspec.structs.replace(own, subnet=net.subnet, uses=tuple(str(path) for path in uses))
    kept.write(folder, own)
    cache.collect()
    site = Site(
        instance=instance,
        tag=tag,
        network=net,
        base=root,
        image=layer,
        program=program,
        shape=wanted.shape,
        ledger=ledger,
        listen=listen,
    )
    return Lab(site, folder, data, own)


def _put_back(folder: Path, ledger: Ledger, throw_away: bool, progress: Callable[[str], None]) -> None:
    cleanup.clean(ledger, progress)
    if throw_away:
        shutil.rmtree(folder)


async def purge(instance: str, progress: Callable[[str], None] = lambda _: None) -> None:
    """Forgets an instance that does not run: its machines with their disks, and its subnet. Raises Conflict
    if it runs."""
    with await _lock(instance) as lock:
        folder = lock.path.parent
        own = kept.read(folder)
        await in_thread(cleanup.clean, Ledger(folder / cleanup.LEDGER), progress)
        if own is not None:
            await erase(Path(own.data))
        shutil.rmtree(folder)


async def erase(data: Path) -> None:
    """Removes the machines' disks, all at once: where each removal waits for the disk, that is how long one
    takes."""
    disks = data / "machines"
    found = list(disks.iterdir()) if disks.is_dir() else []
    await asyncio.gather(*(in_thread(shutil.rmtree, disk, ignore_errors=True) for disk in found))
    shutil.rmtree(disks, ignore_errors=True)
