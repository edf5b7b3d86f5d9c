"""The whole product in one process and in virtual time: API server, operator, controllers, config server, and
machines that are folders with the real daemon on them.

What a story says is what a person would do: apply, edit, delete, look.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

from mco.api import bootstraptokens, configcopies, names, resources
from mco.api.core import Node
from mco.api.machineconfig import MachineConfig
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta import conditions as cond
from mco.base.errors import HostError
from mco.configserver.cluster import chosen_config
from mco.configserver.tokens import new_token
from mco.daemon import firstboot
from mco.daemon.configs import name_of
from mco.daemon.provision import provision
from mco.fleet.apply import apply
from mco.fleet.folders import fetch
from mco.host.fake import FakeMachine
from mco.ignition.parse import parse_and_convert
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.lab.firstboot import Source
from mco.pki import kubeconfig
from mco.pki.authority import Authority
from mco.plan.node import observation
from mco.plan.pool import nodes as state
from mco.runtime.virtual import VirtualClock
from tests.daemon.machine import Machine

PATIENCE = 3600.0
"""Virtual seconds."""
_REQUESTS = 60


class StoryMachine(Machine):
    """A machine, as a story speaks of it."""

    def has(self, path: str) -> bool:
        return self.root.exists(path)

    @property
    def served(self) -> str:
        """The name of the config that it was served at first boot."""
        return name_of(self.root.read_optional(names.SERVED_CONFIG_FILE))

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        return self.machine.host.kernel.running()


class World:
    """`most_away` is how many nodes were on their way to another config at the same time, at most;
    `ever_degraded` names the nodes that were degraded at any time."""

    def __init__(
        self, folder: Path, client: Client, clock: VirtualClock, signer: Authority, api: str, port: int
    ) -> None:
        self._client = client
        self._clock = clock
        self._folder = folder
        self._signer = signer
        self._api = api
        self._port = port
        self._changed = asyncio.Event()
        self._machines: dict[str, StoryMachine] = {}
        self._pools: Informer[MachineConfigPool] = Informer(client, resources.MACHINE_CONFIG_POOLS)
        self._nodes: Informer[Node] = Informer(client, resources.NODES)
        self._configs: Informer[MachineConfig] = Informer(client, resources.MACHINE_CONFIGS)
        self._configs.add_handler(lambda *_: self._changed.set())
        self._pools.add_handler(lambda *_: self._changed.set())
        self._nodes.add_handler(lambda *_: self._node_changed())
        self.most_away = 0
        self.ever_degraded: set[str] = set()

    async def follow(self) -> None:
        """Keeps what a person sees up to date, until cancelled."""
        await asyncio.gather(self._pools.run(), self._nodes.run(), self._configs.run())

    def _node_changed(self) -> None:
        away = [n for n in self._nodes.store.values() if state.current(n) != state.desired(n)]
        self.most_away = max(self.most_away, len(away))
        failing = (n.name for n in self._nodes.store.values() if observation.view(n).failing)
        self.ever_degraded.update(failing)
        self._changed.set()

    # What a person does

    async def apply(self, *objects: dict[str, Any]) -> None:
        await apply(self._client, objects)

    async def delete(self, *machine_configs: str) -> None:
        for name in machine_configs:
            await self._client.delete(resources.MACHINE_CONFIGS, name)

    async def lose(self, rendered: str) -> None:
        """Somebody deletes a rendered config past the guard."""
        body = {"metadata": {"annotations": {names.ALLOW_DELETION: ""}}}
        await self._client.patch(resources.MACHINE_CONFIGS, rendered, body)
        await self.delete(rendered)

    async def edit(self, rendered: str, **spec: Any) -> MachineConfig:
        return await self._client.patch(resources.MACHINE_CONFIGS, rendered, {"spec": spec})

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
            await self.provision(name, pool)
        await self.start(*machines)
        return await self.updated(pool)

    async def provision(self, machine: str, pool: str) -> None:
        """A new machine asks the config server and does its first boot; its daemon has not started yet."""
        token = await self._token(machine, pool)
        source = Source(
            url=f"https://127.0.0.1:{self._port}/config/{pool}",
            ca=self._signer.certificate_pem,
            headers={"Authorization": f"Bearer {token}"},
        )
        await self.install(machine, source)

    async def install(self, machine: str, source: Source) -> None:
        """The same, from another config server than the cluster's."""
        self._machines[machine] = await self._first_boot(machine, source)

    async def join_kubeconfig(self, machine: str, pool: str) -> bytes:
        """What lets a new machine in, for whoever serves it."""
        token = await self._token(machine, pool)
        return kubeconfig.with_token(self._api, self._signer.certificate_pem, "kubelet", token)

    async def start(self, *machines: str) -> None:
        for name in machines:
            await self._machines[name].start()

    async def passes(self, seconds: float) -> None:
        """Virtual time, in which everything that can happen happens."""
        await self._clock.sleep(seconds)

    async def _token(self, machine: str, pool: str) -> str:
        token = new_token(pool, self._clock.now(), timedelta(hours=1), machine=machine)
        secret = bootstraptokens.to_secret(token)
        await self._client.create(resources.SECRETS, secret, namespace=bootstraptokens.NAMESPACE)
        return token.text

    async def _first_boot(self, name: str, source: Source) -> StoryMachine:
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

    async def rendered(self, pool: str, *, made_of: Collection[str], other_than: str = "") -> str:
        """Waits until new machines are meant to get the config of these MachineConfigs; its name."""

        def holds() -> bool:
            found = self.pool(pool)
            sources = {source.name for source in found.spec.configuration.source or ()}
            if found.spec.configuration.name == other_than:
                return False
            return set(made_of) == sources and chosen_config(found) == found.spec.configuration.name

        await self._until(holds, f"{pool} rendered from {sorted(made_of)}")
        return self.pool(pool).spec.configuration.name

    def current_config(self, node: str) -> str:
        found = self._nodes.store.get(node)
        return state.current(found) if found else ""

    async def stored(self, config: str) -> MachineConfig:
        return await self._client.get(resources.MACHINE_CONFIGS, config)

    async def back(self, config: str, before: MachineConfig) -> MachineConfig:
        """Waits until there is one of that name again."""
        uid = before.metadata.uid
        await self._until(
            lambda: (found := self._configs.store.get(config)) is not None and found.metadata.uid != uid,
            f"{config} is back",
        )
        return await self.stored(config)

    async def put_back(self, edited: MachineConfig) -> MachineConfig:
        """Waits until somebody has changed a config again after that edit."""
        version = edited.metadata.resource_version

        def holds() -> bool:
            found = self._configs.store.get(edited.name)
            return found is not None and int(found.metadata.resource_version) > int(version)

        await self._until(holds, f"{edited.name} is put back")
        return await self.stored(edited.name)

    async def on_the_way(self, *machines: str) -> None:
        """Waits until one of them is."""
        nodes = self._nodes.store
        await self._until(
            lambda: any(state.current(n) != state.desired(n) for m in machines if (n := nodes.get(m))),
            "a rollout",
        )

    async def copies_left(self) -> list[str]:
        """Secrets in which machines handed over configs, a while after."""
        await self.passes(60)
        found = await self._client.list(resources.SECRETS, namespace=names.NAMESPACE)
        return [secret.name for secret in found.items if secret.type == configcopies.SECRET_TYPE]

    async def condition(self, node: str, type_: str) -> tuple[str, str]:
        """Status and message of a condition of the node's MachineConfigNode; empty when it is not there."""
        report = await self._client.get(resources.MACHINE_CONFIG_NODES, node)
        found = cond.find(report.status.conditions, type_)
        return (found.status, found.message) if found else ("", "")

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
