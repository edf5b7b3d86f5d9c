"""The whole product in one process and in virtual time: API server, operator, controllers, config server, and
machines that are folders with the real daemon on them.

What a story says is what a person would do: apply, edit, delete, look.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mco.api import bootstraptokens, names, resources
from mco.api.core import Node
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.apiserver.server import Running, Settings, running
from mco.base.errors import HostError
from mco.configserver.cluster import Access
from mco.configserver.process import Listeners, run_cluster
from mco.configserver.tokens import new_token
from mco.controllers.process import Controllers, Pace
from mco.daemon import firstboot
from mco.daemon.provision import provision
from mco.fleet.apply import apply
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
from mco.plan.pool import nodes as state
from mco.runtime import version, virtual
from mco.runtime.virtual import VirtualClock
from tests.daemon.machine import Machine

ROLE = names.ROLE_LABEL
PATIENCE = 3600.0
"""Virtual seconds."""
_REQUESTS = 60


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


class StoryMachine(Machine):
    """A machine, as a story speaks of it."""

    def has(self, path: str) -> bool:
        return self.root.exists(path)

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        return self.machine.host.kernel.running()


class World:
    """`most_away` is how many nodes were on their way to another config at the same time, at most."""

    def __init__(
        self, folder: Path, client: Client, clock: VirtualClock, signer: Authority, port: int
    ) -> None:
        self._client = client
        self._clock = clock
        self._folder = folder
        self._signer = signer
        self._port = port
        self._changed = asyncio.Event()
        self._machines: dict[str, StoryMachine] = {}
        self._pools: Informer[MachineConfigPool] = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._nodes: Informer[Node] = Informer(client, resources.NODES)
        self._pools.add_handler(lambda *_: self._changed.set())
        self._nodes.add_handler(lambda *_: self._node_changed())
        self.most_away = 0

    async def follow(self) -> None:
        """Keeps what a person sees up to date, until cancelled."""
        await asyncio.gather(self._pools.run(), self._nodes.run())

    def _node_changed(self) -> None:
        away = [n for n in self._nodes.store.values() if state.current(n) != state.desired(n)]
        self.most_away = max(self.most_away, len(away))
        self._changed.set()

    # What a person does

    async def apply(self, *objects: dict[str, Any]) -> None:
        await apply(self._client, objects)

    async def delete(self, *machine_configs: str) -> None:
        for name in machine_configs:
            await self._client.delete(resources.MACHINE_CONFIGS, name)

    @contextlib.asynccontextmanager
    async def paused(self, pool: str) -> AsyncIterator[None]:
        """Several changes are one rollout when their pool is paused meanwhile."""
        await self._pause(pool, True)
        yield
        await self._pause(pool, False)

    async def _pause(self, pool: str, paused: bool) -> None:
        await self._client.patch(resources.MACHINE_CONFIG_POOLS, pool, {"spec": {"paused": paused}})

    async def boot(self, *machines: str, pool: str = "worker") -> str:
        """New machines come in with tokens of the pool and become what it says; its config is returned."""
        await self._until(lambda: bool(self.pool(pool).status.configuration.name), f"{pool} is served")
        for name in machines:
            self._machines[name] = await self._first_boot(name, pool)
            await self._machines[name].start()
        return await self.updated(pool)

    async def _first_boot(self, name: str, pool: str) -> StoryMachine:
        token = new_token(pool, self._clock.now(), timedelta(hours=1), machine=name)
        secret = bootstraptokens.to_secret(token)
        await self._client.create(resources.SECRETS, secret, namespace=bootstraptokens.NAMESPACE)
        source = Source(
            url=f"https://127.0.0.1:{self._port}/config/{pool}",
            ca=self._signer.certificate_pem,
            headers={"Authorization": f"Bearer {token.text}"},
        )
        config = parse_and_convert(await self._fetched(source))
        folder = self._folder / name
        FakeMachine.create(folder, hostname=name).close()
        machine = StoryMachine(folder, name, None, clock=self._clock)
        provision(machine.machine.host, config)
        machine.boot()
        if firstboot.complete(machine.machine.host):
            machine.boot()
        return machine

    async def _fetched(self, source: Source) -> bytes:
        """Ignition asks again while the server cannot answer yet."""
        for _ in range(_REQUESTS - 1):
            try:
                return await asyncio.to_thread(fetch, source)
            except HostError:
                await self._clock.sleep(1.0)
        return await asyncio.to_thread(fetch, source)

    # What a person sees

    @property
    def machines(self) -> list[StoryMachine]:
        return list(self._machines.values())

    def pool(self, name: str) -> MachineConfigPool:
        return self._pools.store.get(name) or MachineConfigPool()

    def current_config(self, node: str) -> str:
        found = self._nodes.store.get(node)
        return state.current(found) if found else ""

    def roles(self, node: str) -> set[str]:
        found = self._nodes.store.get(node)
        labels = found.metadata.labels or {} if found else {}
        prefix = names.NODE_ROLE_PREFIX
        return {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}

    async def updated(self, pool: str, *, made_of: Collection[str] = ()) -> str:
        """Waits until every machine of the pool is at its target, made of these MachineConfigs if any are
        named; the target's name."""

        def holds() -> bool:
            found = self.pool(pool)
            sources = {source.name for source in found.spec.configuration.source or ()}
            return (
                self._condition(pool, "Updated")[0] == "True"
                and found.status.configuration.name == found.spec.configuration.name
                and found.status.machine_count == self._members(pool)
                and (not made_of or set(made_of) == sources)
            )

        await self._until(holds, f"{pool} updated")
        return self.pool(pool).spec.configuration.name

    async def degraded(self, pool: str) -> str:
        """Waits until the pool is degraded; what its nodes say."""
        await self._until(lambda: self._condition(pool, "Degraded")[0] == "True", f"{pool} degraded")
        return self._condition(pool, "NodeDegraded")[1]

    async def healed(self, pool: str) -> None:
        await self._until(lambda: self._condition(pool, "Degraded")[0] == "False", f"{pool} healed")

    def _condition(self, pool: str, type_: str) -> tuple[str, str]:
        found = cond.find(self.pool(pool).status.conditions, type_)
        return (found.status, found.message) if found else ("", "")

    def _members(self, pool: str) -> int:
        return sum(name.startswith(pool) for name in self._machines)

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            pools = {p.name: p.status for p in self._pools.store.values()}
            nodes = {n.name: n.metadata.annotations for n in self._nodes.store.values()}
            raise AssertionError(f"{what} did not happen; pools {pools}; nodes {nodes}") from error

    async def end(self) -> None:
        for machine in self.machines:
            await machine.stop()
            machine.machine.close()


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    # It begins now: the TLS library looks at the real clock.
    clock = VirtualClock(datetime.now(UTC))
    data = folder / "api"
    async with running(Settings(data_dir=data)) as api, Client(load(api.kubeconfig)) as client:
        signer = pki.load(data / "ca.crt", data / "ca.key")
        installation = Installation(
            server=api.url, ca=signer.certificate_pem, version="0.1.0", commit=version.commit()
        )
        controllers = Controllers(client, clock, authority=signer, pace=Pace(settle=0.0))
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        await install(client, installation)
        async with _running(
            process.run(client, installation, clock),
            *(part() for part in controllers.parts.values()),
            _config_server(folder, api, signer, clock, port),
        ):
            made = World(folder, client, clock, signer, await port)
            async with _running(made.follow()):
                try:
                    yield made
                finally:
                    await made.end()
        await controllers.close()


async def _config_server(
    folder: Path, api: Running, signer: Authority, clock: VirtualClock, port: asyncio.Future[int]
) -> None:
    pair = signer.server("config-server", ("127.0.0.1",), clock.now())
    certificate, key = folder / "tls.crt", folder / "tls.key"
    files.write(certificate, pair.certificate)
    files.write(key, pair.key)
    await run_cluster(
        load(api.kubeconfig),
        Access(server=api.url, authorities=signer.certificate_pem),
        Listeners(certificate=certificate, key=key, bind="127.0.0.1", secure_port=0, grace=1.0),
        require_token=True,
        started=lambda listening: port.set_result(listening.secure),
        signals=False,
    )


@contextlib.asynccontextmanager
async def _running(*parts: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def told(folder: Path, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Runs a story in virtual time."""

    async def tell() -> None:
        async with world(folder) as made:
            await story(made)

    virtual.run(tell())
