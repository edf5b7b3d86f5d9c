"""`mco up --kubernetes`, told from beginning to end: control plane, nodes, payload, and back to nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from functools import partial

from mco.api import names, resources
from mco.api.core import Node
from mco.api.meta import conditions as cond
from mco.base.errors import Conflict, Unavailable, Unsupported
from mco.fleet.components import Component, Supervisor, describe_exit, last_lines
from mco.fleet.instance import Instance
from mco.fleet.kubernetes.plane import KubernetesPlane, kubernetes_plane
from mco.fleet.patience import patiently
from mco.fleet.real import RealHosts
from mco.fleet.screen import Screen
from mco.fleet.seed import seed
from mco.fleet.tour import EXAMPLES
from mco.fleet.watch import News, Watch, all_updated, blockers
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.lab import checks
from mco.lab.commands import in_thread
from mco.lab.instance import Lab, open_lab
from mco.lab.kubernetes import images, node, programs

CONTROL_PLANE = f"{names.MASTER}-1"
_ROLE = "node-role.kubernetes.io"
_LABELS: Mapping[str, dict[str, str]] = {
    names.MASTER: {f"{_ROLE}/{names.MASTER}": "", f"{_ROLE}/control-plane": ""},
    names.WORKER: {f"{_ROLE}/{names.WORKER}": ""},
}
_TAINTS = {names.MASTER: f"{_ROLE}/control-plane:NoSchedule"}
_READY_SECONDS = 180.0


def check(instance: Instance, *, wanted: bool) -> None:
    """Raises Conflict when the instance's data are those of the other kind of API server."""
    if not (instance.api / "ca.crt").exists() or (instance.api / "etcd").exists() == wanted:
        return
    has = "the embedded API server" if wanted else "a real Kubernetes"
    raise Conflict(
        f'instance "{instance.name}" has the data of {has}',
        path=str(instance.api),
        hint=f"another one beside it: --name NAME; or start anew: mco down --name {instance.name} --purge",
    )


async def up(instance: Instance, workers: int, screen: Screen) -> bool:
    """Runs until it is interrupted. Raises Unsupported where this host cannot run real machines."""
    if failed := await asyncio.to_thread(checks.missing):
        lines = "; ".join(f"{check.name}: {check.found} ({check.remedy})" for check in failed)
        raise Unsupported("a real Kubernetes needs real machines", hint=lines)
    found = programs.find()
    folder = instance.folder / "images"
    await in_thread(images.fill, folder)
    shape, news = node.shape(found, folder), News()
    async with (
        open_lab(instance.name, instance.machines, shape=shape, listen=news.tell, progress=screen.say) as lab,
        kubernetes_plane(instance, lab.network, found) as plane,
    ):
        screen.say(f"API server: {plane.server}   KUBECONFIG={instance.kubeconfig}")
        roles = layout(workers, lab.known())
        try:
            await start(lab, plane, roles)
            screen.say(f"{len(roles)} nodes are ready; installing")
            await install(instance)
            await seed(plane.client)
            async with Watch(plane.client, RealHosts(lab), roles, screen, news).running() as watch:
                await _follow(instance, roles, watch, screen)
        finally:
            # Before the API server: a pod that ends has something to tell it.
            await lab.stop(in_order=not instance.discarded)
    return True


async def install(instance: Instance) -> None:
    """As anybody would. Raises Unavailable with what it said last."""
    log = instance.logs / "install.log"
    code = await Supervisor(
        Component("install", ("install", f"--kubeconfig={instance.kubeconfig}"), log)
    ).once()
    if code != 0:
        said = "\n".join(last_lines(log))
        raise Unavailable(f"mco install {describe_exit(code)}", path=str(log), hint=said)


async def _follow(instance: Instance, roles: Mapping[str, str], watch: Watch, screen: Screen) -> None:
    """Until it is cancelled. What does not get there stays as it is, so that a person can look at it."""
    needed = set(roles.values())
    try:
        await watch.until(lambda fleet: needed <= {p.name for p in fleet.pools if p.config}, "rendering")
        await watch.until(lambda fleet: all_updated(fleet, roles), "adoption")
    except Unavailable as error:
        screen.say(error.message)
        for line in blockers(watch.fleet()):
            screen.say(line)
    screen.close()
    screen.say(_what_next(instance))
    screen.calm()
    await watch.follow()


def _what_next(instance: Instance) -> str:
    option = f" --name {instance.name}" if instance.name != "default" else ""
    return f"""
Running until Ctrl-C. In another terminal:

  export KUBECONFIG={instance.kubeconfig}
  kubectl get nodes,mcp,mcn -w
  kubectl --namespace {names.NAMESPACE} get pods -o wide
  kubectl apply -f {EXAMPLES}/rollout/70-kernel-argument.yaml
  mco status{option}
  mco lab exec{option} {names.WORKER}-1 -- systemctl status kubelet
"""


def layout(workers: int, known: Iterable[str]) -> dict[str, str]:
    """Names of machines with their roles: those that are there, the control plane's, and workers."""
    wanted = (CONTROL_PLANE, *(f"{names.WORKER}-{number}" for number in range(1, workers + 1)))
    return {name: name.rpartition("-")[0] for name in dict.fromkeys((*known, *wanted))}


async def start(lab: Lab, plane: KubernetesPlane, roles: Mapping[str, str]) -> None:
    """Boots the machines and waits until they are nodes that are ready, with their roles."""
    kubeconfig = await plane.bootstrap_kubeconfig()
    for name, role in roles.items():
        place = node.Place(
            number=lab.number(name), kubeconfig=kubeconfig, ca=plane.ca, taints=_TAINTS.get(role, "")
        )
        machine = lab.machine(name, None, files=place.files())
        if not machine.disk.provisioned:
            await _forget(plane, name)
        machine.start()
    for machine in lab.machines.values():
        await machine.running(timeout=_READY_SECONDS)
    await ready(plane, roles)
    for name, role in roles.items():
        patch = {"metadata": {"labels": _LABELS[role]}}
        await patiently(partial(plane.client.patch, resources.NODES, name, patch))


async def _forget(plane: KubernetesPlane, name: str) -> None:
    """The Node of a machine that is gone says what its disk had."""
    with contextlib.suppress(NotFoundError):
        await patiently(partial(plane.client.delete, resources.NODES, name))


async def ready(plane: KubernetesPlane, wanted: Iterable[str]) -> None:
    """Waits until these nodes are. Raises Unavailable naming one that is not."""
    changed = asyncio.Event()
    informer = Informer(plane.client, resources.NODES)
    informer.add_handler(lambda _, __: changed.set())
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while lacking := _not_ready(informer, wanted):
                await changed.wait()
                changed.clear()
    except TimeoutError:
        raise Unavailable(
            f"not ready after {_READY_SECONDS:g} s: {', '.join(lacking)}",
            hint=f"mco lab exec --name {plane.instance.name} {lacking[0]} -- journalctl --unit kubelet",
        ) from None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _not_ready(informer: Informer[Node], wanted: Iterable[str]) -> list[str]:
    found = {name: informer.store.get(name) for name in wanted}
    return [name for name, node_ in found.items() if node_ is None or not _is_ready(node_)]


def _is_ready(found: Node) -> bool:
    return cond.is_true(found.status.conditions, "Ready")
