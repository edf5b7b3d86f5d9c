"""The whole product in one process and in virtual time: API server, operator, controllers, config server, and
machines that are folders with the real daemon on them.

What a story says is what a person would do: apply, edit, delete, look.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mco.api import bootstraptokens, names, resources
from mco.api.bootstraptokens import BootstrapToken
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.apiserver.server import Settings, running
from mco.configserver.cluster import Access
from mco.configserver.process import Listeners, run_cluster
from mco.controllers.process import Controllers, Pace
from mco.daemon import firstboot
from mco.daemon.provision import provision
from mco.fleet.folders import fetch
from mco.host.fake import FakeMachine
from mco.ignition.parse import parse_and_convert
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.informer import Informer
from mco.lab.firstboot import Source
from mco.operator import process
from mco.operator.install import install
from mco.operator.objects import Installation
from mco.pki import authority as pki
from mco.pki import files
from mco.pki.authority import Authority
from mco.runtime import virtual
from mco.runtime.virtual import VirtualClock
from tests.daemon.machine import Machine

ROLE = names.ROLE_LABEL
PATIENCE = 3600.0
"""Virtual seconds."""


def machine_config(name: str, role: str = "worker", **spec: Any) -> dict[str, Any]:
    document = {"ignition": {"version": "3.2.0"}} | spec.pop("ignition", {})
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {ROLE: role}},
        "spec": {"config": document} | spec,
    }


def file(name: str, path: str, text: str, role: str = "worker") -> dict[str, Any]:
    entry = {"path": path, "mode": 420, "contents": {"source": f"data:,{text}"}}
    return machine_config(name, role, ignition={"storage": {"files": [entry]}})


def kernel_argument(name: str, argument: str) -> dict[str, Any]:
    return machine_config(name, kernelArguments=[argument])


def pool(name: str) -> dict[str, Any]:
    """A custom pool: the workers' MachineConfigs and its own."""
    roles = {"key": ROLE, "operator": "In", "values": ["worker", name]}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [roles]},
            "nodeSelector": {"matchLabels": {f"{names.NODE_ROLE_PREFIX}{name}": ""}},
        },
    }


class World:
    def __init__(
        self, folder: Path, client: Client, clock: VirtualClock, signer: Authority, port: int
    ) -> None:
        self.client = client
        self._clock = clock
        self._folder = folder
        self._signer = signer
        self._port = port
        self._tokens = 0
        self._changed = asyncio.Event()
        self.pools: Informer[MachineConfigPool] = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self.nodes: Informer[Node] = Informer(client, resources.NODES)
        self.machines: dict[str, Machine] = {}
        for informer in (self.pools, self.nodes):
            informer.add_handler(lambda *_: self._changed.set())

    # What a person does

    async def apply(self, *objects: dict[str, Any]) -> None:
        for body in objects:
            if body["kind"] == "MachineConfig":
                await self.client.create(resources.MACHINE_CONFIGS, body)
            else:
                await self.client.create(resources.MACHINE_CONFIG_POOLS, body)

    async def delete(self, name: str) -> None:
        await self.client.delete(resources.MACHINE_CONFIGS, name)

    async def pause(self, name: str, paused: bool = True) -> None:
        await self.client.patch(resources.MACHINE_CONFIG_POOLS, name, {"spec": {"paused": paused}})

    async def boot(self, *machines: str, pool: str = "worker") -> None:
        """New machines come in with tokens of the pool, and become what it says."""
        await self.until(lambda: bool(self.pool(pool).status.configuration.name), f"{pool} is served")
        for name in machines:
            self.machines[name] = await self._first_boot(name, pool)
            await self.machines[name].start()
        await self.updated(pool)

    async def _first_boot(self, name: str, pool: str) -> Machine:
        self._tokens += 1
        token = BootstrapToken(
            id=f"aaaa{self._tokens:02}", secret="0123456789abcdef", pool=pool, machine=name
        )
        secret = bootstraptokens.to_secret(token)
        await self.client.create(resources.SECRETS, secret, namespace=bootstraptokens.NAMESPACE)
        source = Source(
            url=f"https://127.0.0.1:{self._port}/config/{pool}",
            ca=self._signer.certificate_pem,
            headers={"Authorization": f"Bearer {token.text}"},
        )
        config = parse_and_convert(await asyncio.to_thread(fetch, source))
        folder = self._folder / name
        FakeMachine.create(folder, hostname=name).close()
        machine = Machine(folder, name, None, clock=self._clock)
        provision(machine.machine.host, config)
        machine.boot()
        if firstboot.complete(machine.machine.host):
            machine.boot()
        return machine

    # What a person sees

    def pool(self, name: str = "worker") -> MachineConfigPool:
        return self.pools.store.get(name) or MachineConfigPool()

    def annotation(self, node: str, key: str) -> str:
        found = self.nodes.store.get(node)
        return (found.metadata.annotation(key) if found else "") or ""

    def condition(self, type_: str, pool: str = "worker") -> tuple[str, str]:
        found = cond.find(self.pool(pool).status.conditions, type_)
        return (found.status, found.message) if found else ("", "")

    async def updated(self, pool: str = "worker", *, made_of: Iterable[str] = ()) -> str:
        """Waits until every machine of the pool is at its target, rendered from exactly these
        MachineConfigs; the target's name."""

        def holds() -> bool:
            found = self.pool(pool)
            sources = {source.name for source in found.spec.configuration.source or ()}
            return (
                self.condition("Updated", pool)[0] == "True"
                and found.status.configuration.name == found.spec.configuration.name
                and found.status.machine_count == self._members(pool)
                and (not made_of or set(made_of) == sources)
            )

        await self.until(holds, f"{pool} updated")
        return self.pool(pool).spec.configuration.name

    def _members(self, pool: str) -> int:
        return sum(name.startswith(pool) for name in self.machines)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            pools = {p.name: p.status for p in self.pools.store.values()}
            nodes = {n.name: n.metadata.annotations for n in self.nodes.store.values()}
            raise AssertionError(f"{what} did not happen; pools {pools}; nodes {nodes}") from error


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    # It begins now: the TLS library looks at the real clock.
    clock = VirtualClock(datetime.now(UTC))
    data = folder / "api"
    async with running(Settings(data_dir=data)) as api, Client(load(api.kubeconfig)) as client:
        signer = pki.load(data / "ca.crt", data / "ca.key")
        installation = Installation(server=api.url, ca=signer.certificate_pem, version="0.1.0")
        controllers = Controllers(client, clock, authority=signer, pace=Pace(settle=0.0))
        ports: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        await install(client, installation, clock)
        parts: list[Coroutine[Any, Any, None]] = [process.run(client, installation, clock)]
        tasks = [asyncio.ensure_future(part) for part in parts]
        tasks += [asyncio.ensure_future(part()) for part in controllers.parts.values()]
        pair = signer.server("config-server", ("127.0.0.1",), clock.now())
        certificate, key = folder / "tls.crt", folder / "tls.key"
        files.write(certificate, pair.certificate)
        files.write(key, pair.key)
        tasks.append(
            asyncio.ensure_future(
                run_cluster(
                    load(api.kubeconfig),
                    Access(server=api.url, authorities=signer.certificate_pem),
                    Listeners(certificate=certificate, key=key, bind="127.0.0.1", secure_port=0, grace=1.0),
                    require_token=True,
                    started=lambda listening: ports.set_result(listening.secure),
                    signals=False,
                )
            )
        )
        made = World(folder, client, clock, signer, await ports)
        tasks += [asyncio.ensure_future(informer.run()) for informer in (made.pools, made.nodes)]
        try:
            yield made
        finally:
            for machine in made.machines.values():
                await machine.stop()
                machine.machine.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def told(folder: Path, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Runs a story in virtual time."""

    async def tell() -> None:
        async with world(folder) as made:
            await story(made)

    virtual.run(tell())
