"""Cluster mode: answers follow the objects in the API (spec/operator.md 3.4).

Caches tell what changed; for each pool that a change touches, the config is fetched and the versions that
machines ask for are prepared before the new answers replace the old ones. A pool whose new config cannot be
had is served its last good one. Those are not kept on a disk, where a config's secrets would lie about: a
server that starts while a pool's config is missing serves the pool's other one, if that is there. No request
waits for the API server, and none needs it to be there.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from mco.api import bootstraptokens, names
from mco.api.controllerconfig import ControllerConfig
from mco.api.core import ConfigMap, Secret
from mco.api.machineconfig import MachineConfig, MachineConfigSpec
from mco.api.machineconfigpool import MachineConfigPool
from mco.api.meta.objects import Object
from mco.api.resources import CONFIG_MAPS, CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, SECRETS
from mco.base.errors import InvalidInput, NotFound, Unavailable
from mco.configserver.credentials import TOKEN_FOLDER, FollowedFile
from mco.configserver.front import NotReady, NotServed
from mco.configserver.generation import Generation
from mco.configserver.kubeconfig import Endpoint
from mco.configserver.marks import ServingMarks
from mco.configserver.negotiate import NEWEST
from mco.configserver.preparation import prepare
from mco.configserver.prepared import Prepared
from mco.configserver.served import Source
from mco.kube.client import Client
from mco.kube.informer import Informer
from mco.kube.reconcile import Reconciler, RetryPolicy
from mco.plan.installation import kubeconfigdata
from mco.runtime.logging import Logger

_log = Logger("mco.configserver")

_RETRY = RetryPolicy(longest=5.0, pause=5.0)


class Missing(Unavailable):
    """A rendered config is not there; it may come back."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """How machines shall reach the API: `server` is `--apiserver-url`; its authorities are those of the
    ConfigMap, else of `token_folder`, else `authorities`, those that we know the API by ourselves."""

    server: str
    token_folder: Path = TOKEN_FOLDER
    authorities: bytes = b""


class Caches:
    """What the config server watches. Of MachineConfigs only metadata is kept: bodies are fetched when a pool
    comes to serve them."""

    def __init__(self, client: Client) -> None:
        self.pools: Informer[MachineConfigPool] = Informer(client, MACHINE_CONFIG_POOLS)
        self.machine_configs: Informer[MachineConfig] = Informer(
            client, MACHINE_CONFIGS, transform=_without_spec
        )
        self.controllers: Informer[ControllerConfig] = Informer(client, CONTROLLER_CONFIGS)
        self.config_maps: Informer[ConfigMap] = Informer(client, CONFIG_MAPS, namespace=names.NAMESPACE)
        self.tokens: Informer[Secret] = Informer(
            client, SECRETS, namespace=bootstraptokens.NAMESPACE, label_selector=names.JOIN_POOL_LABEL
        )

    def parts(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            "pools": self.pools.run,
            "machineconfigs": self.machine_configs.run,
            "controllerconfigs": self.controllers.run,
            "configmaps": self.config_maps.run,
            "tokens": self.tokens.run,
        }

    async def synced(self) -> None:
        """Returns once everything that answers are made of is known; whoever needs tokens waits for them."""
        for cache in (self.pools, self.machine_configs, self.controllers, self.config_maps):
            await cache.synced()


def chosen_config(pool: MachineConfigPool) -> str:
    """The rendered config that new machines get: the newest once a machine runs it, so that a config which
    breaks machines does not reach new ones first."""
    if pool.status.updated_machine_count > 0:
        return pool.spec.configuration.name
    return pool.status.configuration.name


def eligible_configs(pool: MachineConfigPool) -> list[str]:
    """Which configs new machines may get, the best first. The machines of a pool have one of these two, or
    are on their way; a new machine goes the rest of the way with them."""
    both = (chosen_config(pool), pool.spec.configuration.name, pool.status.configuration.name)
    return [name for name in dict.fromkeys(both) if name]


class ClusterConfigs:
    """The answers, by pool; see `front.Configs`."""

    def __init__(self, client: Client, caches: Caches, access: Access, marks: ServingMarks) -> None:
        self._client = client
        self._marks = marks
        self._caches = caches
        self._access = access
        self._folder_authorities = FollowedFile(access.token_folder / "ca.crt")
        self._generations: dict[str, Generation] = {}
        self._reasons: dict[str, str] = {}
        self._reconciler = Reconciler("configserver", self.refresh, policy=_RETRY)
        caches.pools.add_handler(lambda old, new: self._reconciler.enqueue(_name(old, new)))
        caches.machine_configs.add_handler(self._machine_config_changed)
        caches.controllers.add_handler(lambda _old, _new: self._enqueue_all())
        caches.config_maps.add_handler(self._config_map_changed)

    @property
    def preparations(self) -> int:
        """How many answers the present generations have cost; requests do not raise it."""
        return sum(generation.prepared for generation in self._generations.values())

    @property
    def configs(self) -> set[str]:
        """The names of what is served now."""
        return {generation.config for generation in self._generations.values()}

    def ready(self, pool: str, version: str) -> Prepared | None:
        generation = self._generations.get(pool)
        if generation is not None:
            return generation.ready(version)
        if pool not in self._caches.pools.store:
            raise NotServed("there is no such pool", subject=f"MachineConfigPool/{pool}")
        return None

    async def prepare(self, pool: str, version: str) -> Prepared:
        generation = self._generations.get(pool)
        if generation is None:
            raise NotReady(
                self._reasons.get(pool, "the pool's config is not prepared yet"),
                subject=f"MachineConfigPool/{pool}",
            )
        return await generation.get(version)

    async def warm(self) -> None:
        """Prepare every pool once, as far as it can be; call it when the caches are in sync."""
        for pool in list(self._caches.pools.store):
            try:
                await self.refresh(pool)
            except Exception as error:
                _log.warning("pool cannot be served yet", pool=pool, reason=str(error))
                self._reconciler.enqueue(pool)

    async def run(self) -> None:
        """Follow the caches for ever."""
        await asyncio.gather(self._reconciler.run(), self._marks.keep(lambda: self.configs))

    async def refresh(self, name: str) -> None:
        """Bring the answers of a pool up to its objects. Raises MCOError; the last good ones then stay."""
        pool = self._caches.pools.store.get(name)
        if pool is None:
            self._generations.pop(name, None)
            self._reasons.pop(name, None)
            return
        try:
            await self._renew(pool)
        except Exception as error:
            self._reasons[name] = str(error)
            raise
        self._reasons.pop(name, None)

    async def _renew(self, pool: MachineConfigPool) -> None:
        eligible = eligible_configs(pool)
        if not eligible:
            raise Unavailable("the pool has no rendered config yet", subject=f"MachineConfigPool/{pool.name}")
        present = self._generations.get(pool.name)
        try:
            await self._replace(pool.name, present, eligible[0])
        except Missing:
            if present or len(eligible) == 1:
                raise
            await self._replace(pool.name, None, eligible[1])

    async def _replace(self, pool: str, present: Generation | None, config: str) -> None:
        controller, endpoint = self._controller(), self._endpoint()
        known = self._caches.machine_configs.store.get(config)
        if present and known and present.identity == _identity(known, controller, endpoint):
            return
        await self._marks.mark([config])
        source = Source(machine_config=await self._fetch(config), controller=controller)
        generation = Generation(
            config,
            _identity(source.machine_config, controller, endpoint),
            lambda version: prepare(source, endpoint, version),
        )
        await generation.warm({NEWEST, *(present.versions if present else ())})
        if present:
            generation.ready(NEWEST)  # raises if nobody could be served: then the last good one stays
        self._generations[pool] = generation
        _log.info("pool prepared", pool=pool, config=config, versions=list(generation.versions))

    async def _fetch(self, config: str) -> MachineConfig:
        try:
            machine_config = await self._client.get(MACHINE_CONFIGS, config)
        except NotFound as error:
            raise Missing(
                "the pool's rendered config is missing", subject=f"MachineConfig/{config}"
            ) from error
        # The raw part is a view of the whole answer of the API server.
        return _with_config(machine_config, machine_config.spec.config.copy())

    def _controller(self) -> ControllerConfig:
        controller = self._caches.controllers.store.get(names.CONTROLLER_CONFIG)
        if controller is None:
            raise Unavailable(
                "the ControllerConfig is missing", subject=f"ControllerConfig/{names.CONTROLLER_CONFIG}"
            )
        return controller

    def _endpoint(self) -> Endpoint:
        config_map = self._caches.config_maps.store.get(f"{names.NAMESPACE}/{kubeconfigdata.NAME}")
        data = (config_map.binary_data or {}).get(kubeconfigdata.KEY) if config_map else None
        if data:
            return Endpoint(self._access.server, _decoded(data))
        try:
            return Endpoint(self._access.server, self._folder_authorities.read())
        except Unavailable:
            if not self._access.authorities:
                raise
            return Endpoint(self._access.server, self._access.authorities)

    def _machine_config_changed(self, old: MachineConfig | None, new: MachineConfig | None) -> None:
        changed = _name(old, new)
        for pool in self._caches.pools.store.values():
            if changed in eligible_configs(pool):
                self._reconciler.enqueue(pool.name)

    def _config_map_changed(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        if _name(old, new) == kubeconfigdata.NAME:
            self._enqueue_all()

    def _enqueue_all(self) -> None:
        for pool in self._caches.pools.store:
            self._reconciler.enqueue(pool)


def _identity(machine_config: MachineConfig, controller: ControllerConfig, endpoint: Endpoint) -> object:
    """What the bytes depend on; a ControllerConfig's status changes far more often than its certificates."""
    spec = controller.spec
    return (
        machine_config.name,
        machine_config.metadata.uid,
        machine_config.metadata.resource_version,
        spec.kube_api_server_serving_ca_data,
        spec.cloud_provider_ca_data,
        endpoint,
    )


def _without_spec(machine_config: MachineConfig) -> MachineConfig:
    return msgspec.structs.replace(machine_config, spec=MachineConfigSpec())


def _with_config(machine_config: MachineConfig, config: msgspec.Raw) -> MachineConfig:
    return msgspec.structs.replace(
        machine_config, spec=msgspec.structs.replace(machine_config.spec, config=config)
    )


def _name(old: Object | None, new: Object | None) -> str:
    found = new or old
    return found.name if found else ""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise InvalidInput(
            "the authorities are not base64",
            subject=f"ConfigMap/{names.NAMESPACE}/{kubeconfigdata.NAME}",
            path=f"$.binaryData.{kubeconfigdata.KEY}",
        ) from None
