"""The config server as a process: what runs together, in which order it starts, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from mco.api import names
from mco.configserver.admission import Gate, TokenBook, everybody
from mco.configserver.audit import COMPONENT, EventAudit
from mco.configserver.bootstrap import POOLS, BootstrapConfigs
from mco.configserver.cluster import Access, Caches, ClusterConfigs
from mco.configserver.credentials import SharedToken
from mco.configserver.front import Front
from mco.configserver.limits import Limits
from mco.configserver.marks import ServingMarks
from mco.configserver.metrics import Requests
from mco.configserver.server import Server
from mco.configserver.tls import Profile
from mco.configserver.tokens import UnknownTokens, follow_tokens
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.events import Recorder
from mco.kube.exposition import Exposition
from mco.pki.serving import ServingCertificate
from mco.runtime.clock import SystemClock
from mco.runtime.logging import Logger
from mco.runtime.scraping import Address
from mco.runtime.supervise import supervise

_log = Logger("mco.configserver")

_TOKENS_PATIENCE = 5.0
"""Seconds that a server which does not require tokens waits for them: it may not be allowed to read them."""

_EVENTS_PATIENCE = 2.0
"""Seconds that the last events may take to be written when it stops."""


class Ports(msgspec.Struct, frozen=True):
    """Where it listens; `insecure` and `metrics` are 0 unless they were asked for."""

    secure: int
    insecure: int = 0
    metrics: int = 0


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """`bind` empty means all addresses; `secure_port` 0 a free one; `insecure_port` None no plain HTTP.
    `grace` is for answers under way when it stops, in seconds; `metrics` where Prometheus may ask, None for
    nowhere."""

    certificate: Path
    key: Path
    profile: Profile = Profile()
    bind: str = ""
    secure_port: int = 22623
    insecure_port: int | None = None
    limits: Limits = Limits()
    grace: float = 20.0
    metrics: Address | None = None


Started = Callable[[Ports], None]


async def run_cluster(
    cluster: Cluster,
    access: Access,
    listeners: Listeners,
    *,
    require_token: bool = False,
    started: Started = lambda _: None,
    signals: bool = True,
) -> None:
    """Serve what the cluster says until a signal or cancellation. `started` is called once it listens.

    Raises InvalidInput for an unusable certificate, PartFailed if a listener cannot be opened, Unavailable if
    that for metrics cannot."""
    clock = SystemClock()
    exposition = Exposition(listeners.metrics)
    certificate = ServingCertificate(listeners.certificate, listeners.key, listeners.profile.context)
    async with Client(cluster, user_agent=COMPONENT) as client:
        caches, book = Caches(client), TokenBook()
        follow_tokens(caches.tokens, book)
        configs = ClusterConfigs(client, caches, access, ServingMarks(client, clock))
        recorder = Recorder(client, COMPONENT, names.NAMESPACE, clock=clock)
        gate = Gate(book, SharedToken(access.token_folder), require_token=require_token)
        audit, unknown = EventAudit(recorder, clock), UnknownTokens(client, clock)
        requests = Requests(caches.pools.store.__contains__)
        front = Front(configs, gate.admit, clock, audit, unknown, requests)
        server = Server(front.answer, listeners.limits)

        async def serve() -> None:
            _log.info("waiting for the API", server=cluster.server)
            await caches.synced()
            await _tokens_synced(caches, require_token)
            await configs.warm()
            async with _listening(server, listeners, certificate) as ports:
                started(msgspec.structs.replace(ports, metrics=exposition.port))
                await configs.run()

        parts = {
            **caches.parts(),
            **exposition.parts(),
            "unknown-tokens": unknown.run,
            "certificate": certificate.watch,
            "memory": server.tidy,
            "serve": serve,
        }
        try:
            with exposition.showing(requests.families):
                await supervise(parts, grace=listeners.grace + 5, signals=signals)
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(recorder.flush(), _EVENTS_PATIENCE)


async def run_bootstrap(
    configs: BootstrapConfigs,
    listeners: Listeners,
    *,
    started: Started = lambda _: None,
    signals: bool = True,
) -> None:
    """Serve the files of an installation that has no cluster yet, until a signal or cancellation."""
    certificate = ServingCertificate(listeners.certificate, listeners.key, listeners.profile.context)
    exposition, requests = Exposition(listeners.metrics), Requests(POOLS.__contains__)
    server = Server(Front(configs, everybody, SystemClock(), requests=requests).answer, listeners.limits)

    async def serve() -> None:
        async with _listening(server, listeners, certificate) as ports:
            started(msgspec.structs.replace(ports, metrics=exposition.port))
            await asyncio.Event().wait()

    parts = {
        **exposition.parts(),
        "certificate": certificate.watch,
        "memory": server.tidy,
        "serve": serve,
    }
    with exposition.showing(requests.families):
        await supervise(parts, grace=listeners.grace + 5, signals=signals)


@contextlib.asynccontextmanager
async def _listening(
    server: Server, listeners: Listeners, certificate: ServingCertificate
) -> AsyncIterator[Ports]:
    """Listeners while the context is open; on the way out answers under way are finished."""
    try:
        secure = await server.listen(listeners.bind, listeners.secure_port, certificate.context)
        insecure = 0
        if listeners.insecure_port is not None:
            insecure = await server.listen(listeners.bind, listeners.insecure_port)
        yield Ports(secure, insecure)
    finally:
        await server.close(listeners.grace)


async def _tokens_synced(caches: Caches, required: bool) -> None:
    try:
        await asyncio.wait_for(caches.tokens.synced(), None if required else _TOKENS_PATIENCE)
    except TimeoutError:
        _log.warning("join tokens cannot be read, machines that show one are refused")
