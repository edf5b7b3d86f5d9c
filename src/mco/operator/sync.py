"""One pass over the installation: every sync function, then what is said of it (spec/operator.md 1.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from mco.api import names, resources, tlsprofile
from mco.api.gates import BOOT_IMAGE_SKEW
from mco.api.machineconfiguration import MachineConfiguration
from mco.api.meta import conditions as cond
from mco.api.meta.conditions import Condition
from mco.base.errors import MCOError, Unavailable
from mco.kube.client import Client
from mco.kube.events import EventSink
from mco.kube.wholes import Wholes
from mco.operator import components, ensure, networkpolicies, objects, policies, registries, userdata
from mco.operator.bootimages import BootImageStatus
from mco.operator.caches import Caches
from mco.operator.controllerconfig import Writer
from mco.operator.kubeconfigdata import KubeconfigData
from mco.operator.objects import Installation
from mco.operator.prebuilt import PreBuiltImages
from mco.operator.report import Report
from mco.operator.reports import has_report
from mco.operator.requiredpools import RequiredPools
from mco.operator.servercertificates import ServerCertificates
from mco.operator.sources import LOOK_AGAIN, Facts, Reader
from mco.operator.steps import Result, Runner, Step
from mco.payload import operands
from mco.payload.manifest import Manifest
from mco.payload.source.metadata import CONTROLLER, DAEMON, SERVER
from mco.plan.installation import bootimages, holds, outcome, pointer, pooltext, upgradeable
from mco.plan.installation.bootimages import Place
from mco.plan.installation.conditions import OPERATOR, Pass, Standing
from mco.plan.installation.discovered import Document, Sources, topology
from mco.plan.installation.outcome import Waiting
from mco.plan.installation.poolvalidity import Expected
from mco.plan.installation.verbosity import verbosity
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger, verbose

_log = Logger("mco.operator")

RESYNC = 1200.0
"""Seconds, and up to as many again, after which everything is looked at although nothing changed."""
_NODES_PATIENCE = 600.0


class Sync:
    """`run` makes one pass. `operands` are the components that it runs, none where somebody else does;
    `bring_up`: the installation is new."""

    def __init__(
        self,
        client: Client,
        installation: Installation,
        caches: Caches,
        events: EventSink,
        clock: Clock,
        *,
        operands: Sequence[Manifest] = (),
        bring_up: bool,
    ) -> None:
        self._client = client
        self._installation = installation
        self._caches = caches
        self._clock = clock
        self._bring_up = bring_up
        self._wholes = Wholes(client)
        self._operands = operands
        self._reader = Reader(client, self._wholes)
        self._writer = Writer(client, self._wholes, clock)
        self._certificates = ServerCertificates(client, clock)
        self._boot_images = BootImageStatus(client, self._wholes, clock)
        self._pre_built = PreBuiltImages(client, clock)
        self._kubeconfig_data = KubeconfigData(client, clock)
        self._required = RequiredPools(client)
        self._report = Report(client, self._wholes, events, installation.versions, clock)
        self._runner = Runner(self._steps(), clock)
        self._read_at: float | None = None
        self._sources = Sources()
        self._facts = Facts()
        self._tls = tlsprofile.INTERMEDIATE
        self._config: dict[str, Any] = {}

    def _steps(self) -> list[Step]:
        rendered = (outcome.RENDER_CONFIG,)
        ours = [
            Step(outcome.RENDER_CONFIG, self._render_config),
            Step(outcome.MACHINE_CONFIGURATION, self._machine_configuration),
            Step(outcome.MACHINE_CONFIG_NODE, self._machine_config_nodes),
            Step(outcome.MACHINE_CONFIG_POOLS, self._pools, rendered),
        ]
        write = Step(outcome.MACHINE_CONFIG_CONTROLLER, self._controller, rendered)
        last = Step(outcome.REQUIRED_POOLS, self._required_pools, (write.name,))
        if not self._operands:
            return [*ours, write, last]
        return [
            *ours,
            Step(outcome.NETWORK_POLICIES, partial(networkpolicies.apply, self._wholes)),
            Step(outcome.MACHINE_CONFIG_DAEMON, partial(self._components, DAEMON)),
            write,
            Step(outcome.MACHINE_CONFIG_SERVER, partial(self._components, SERVER), rendered),
            last,
        ]

    async def run(self, _: str) -> float:
        """Seconds until the next pass. Raises the first failure when everything else is done and said."""
        old = await self._report.begin(bring_up=self._bring_up)
        result = await self._runner.run()
        new = await self._say(old, result)
        if result.error:
            raise result.error
        if self._bring_up and outcome.complete(result.outcomes):
            self._bring_up = False
            _log.info("Initialization complete")
            return 0.0
        if new.versions != old.versions:
            # Only the next pass can say that nothing changes any more.
            return 0.0
        rest = LOOK_AGAIN if self._operands else RESYNC * random.uniform(1, 2)
        return min(rest, result.look_again or rest)

    async def _say(self, old: Standing, result: Result) -> Standing:
        pools = list(self._caches.pools.store.values())
        settings = self._caches.settings.store.get(names.MACHINE_CONFIGURATION)
        skew = upgradeable.skew(settings, self._facts.history, enforced=BOOT_IMAGE_SKEW in self._facts.gates)
        found = Pass(
            outcomes=result.outcomes,
            versions=self._installation.versions,
            bring_up=self._bring_up,
            blocked=upgradeable.blocked(pools, skew),
            findings=self._facts.findings,
        )
        waiting = {each.step: each.waiting for each in result.outcomes}.get(outcome.REQUIRED_POOLS, "")
        held = await self._fleet_hold(old)
        return await self._report.finish(old, found, pooltext.extension(pools, waiting), (held,))

    async def _fleet_hold(self, old: Standing) -> Condition:
        settings = self._caches.settings.store.get(names.MACHINE_CONFIGURATION)
        before = cond.find(settings.status.conditions, holds.UPDATES_HELD) if settings else None
        masters = self._caches.pools.store.get(names.MASTER)
        invalid = await self._required.problem(masters, self._expected()) if masters else ""
        change = holds.Change(
            old=old.versions.get(OPERATOR, ""),
            new=self._installation.version,
            stable=holds.stable(masters, invalid),
        )
        return holds.fleet(before, change, self._clock.now())

    async def _render_config(self) -> None:
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= LOOK_AGAIN:
            self._sources = await self._reader.read(bring_up=self._bring_up)
            if self._operands:
                self._sources = await self._certified(self._sources)
            self._facts = await self._reader.facts()
            if self._sources.registries is not None:
                await registries.keep_merged(self._client, self._sources.registries)
            self._read_at = now
        self._config = objects.controller_config(self._installation, self._sources)
        self._tls = tlsprofile.profile(self._sources.api_server or {})

    async def _certified(self, found: Sources) -> Sources:
        """Whose config server runs here also has its authority from here: new machines have to trust it."""
        config = objects.controller_config(self._installation, found)
        bundle = await self._certificates.keep(pointer.host(config["spec"]["infra"]))
        return msgspec.structs.replace(found, server_ca=bundle)

    async def _machine_configuration(self) -> None:
        known = self._caches.settings.store.get(names.MACHINE_CONFIGURATION)
        body = objects.machine_configuration()
        await ensure.exists(self._client, resources.MACHINE_CONFIGURATIONS, body, known)
        verbose(verbosity(known))
        if known is None:
            return
        known = await policies.keep(self._client, known)
        if self._sources.infrastructure is not None:
            await self._boot(known, self._sources.infrastructure)
        if failure := bootimages.failure(known):
            raise MCOError(failure, subject=f"MachineConfiguration/{known.name}")

    async def _boot(self, settings: MachineConfiguration, infrastructure: Document) -> None:
        facts = self._facts
        place = Place(infrastructure=infrastructure, gates=facts.gates, installed=facts.installed)
        await self._boot_images.keep(settings, place)
        masters = self._caches.pools.store.get(names.MASTER)
        await self._boot_images.stamp(masters, self._expected())

    async def _machine_config_nodes(self) -> Waiting | None:
        """They are made one by one beside the passes (`reports`)."""
        nodes = {node.name for node in self._caches.nodes.store.values() if has_report(node)}
        missing = nodes - self._caches.reports.store.keys()
        if not missing:
            return None
        text = f"{len(missing)} nodes have no MachineConfigNode yet: {min(missing)}"
        return Waiting(message=text, during="syncMachineConfigNodes", patience=_NODES_PATIENCE)

    async def _pools(self) -> None:
        infrastructure = self._sources.infrastructure
        for body in objects.pools(topology(infrastructure) if infrastructure else ""):
            known = self._caches.pools.store.get(body["metadata"]["name"])
            await ensure.exists(self._client, resources.MACHINE_CONFIG_POOLS, body, known)
        if self._operands:
            await self._pre_built.keep(self._caches.pools.store.keys())
            await userdata.keep(self._client, self._caches.pools.store.values(), self._config)

    async def _controller(self) -> Waiting | None:
        """The ControllerConfig is written whether or not its controller runs already."""
        rotated = await self._kubeconfig_data.keep(self._sources.api_ca)
        await self._writer.write(objects.marked(self._config, rotated=rotated))
        self._kubeconfig_data.told()
        return await self._components(CONTROLLER)

    async def _components(self, name: str) -> Waiting | None:
        settings = self._caches.settings.store.get(names.MACHINE_CONFIGURATION)
        live = operands.Live(
            verbosity=verbosity(settings), tls=self._tls, controller=self._sources.controller
        )
        chosen = [operands.adjusted(each, live) for each in self._operands if each.identity.name == name]
        return await components.roll_out(self._wholes, chosen)

    async def _required_pools(self) -> Waiting | None:
        pools = list(self._caches.pools.store.values())
        if not pools:
            raise Unavailable("the pools are not there yet")
        return await self._required.gate(pools, self._expected())

    def _expected(self) -> Expected:
        return Expected(
            controller=self._installation.commit,
            release=self._installation.version,
            os_image=(self._config.get("spec") or {}).get("baseOSContainerImage", ""),
        )
