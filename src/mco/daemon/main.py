"""Starts the daemon: the lock, the identity, the Node, and the loop, until a signal or a new certificate."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from mco.api import names
from mco.base.errors import Conflict, InvalidInput, MCOError, Unavailable
from mco.daemon import firstboot, leftovers, observe
from mco.daemon.agent import Agent
from mco.daemon.configs import Configs
from mco.daemon.context import Context
from mco.daemon.context import Settings as AgentSettings
from mco.daemon.identity import Denied, NodeIdentity
from mco.daemon.metrics import Metrics
from mco.daemon.notify import Notifier
from mco.daemon.pause import Pause
from mco.daemon.registration import Registration, facts
from mco.daemon.report import Reporter
from mco.daemon.worker import Worker
from mco.host.journal import Journal
from mco.host.lock import MachineLock
from mco.host.machine import Host, open_host
from mco.kube import config as kubeconfigs
from mco.kube.backoff import Backoff
from mco.kube.client import Client
from mco.kube.config import Cluster
from mco.kube.errors import Unauthorized
from mco.kube.events import Recorder
from mco.kube.exposition import Exposition, Secure
from mco.runtime.clock import Clock, SystemClock
from mco.runtime.logging import Logger, bound
from mco.runtime.scraping import Address
from mco.runtime.supervise import PartFailed, supervise

_log = Logger("mco.daemon")

COMPONENT = "machineconfigdaemon"
FIRSTBOOT_RETRY = 60.0
STOP_SECONDS = 590.0
"""Less than the unit's stop time: an action that runs is ended, the update is not."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`kubeconfig` given, or `in_cluster` for the service account of a pod: that identity is used as it is
    and none is asked for. `node_name` empty: the machine's host name. `lean`: a new certificate ends the run
    with Enrolled. `metrics_...`: where Prometheus may ask, None for nowhere; over TLS with one of the first
    two identities only, which has to ask who that is."""

    root: Path = Path("/")
    kubeconfig: Path | None = None
    in_cluster: bool = False
    node_name: str = ""
    register_node: bool = False
    lean: bool = False
    metrics_listen: Address | None = None
    metrics_secure_listen: Address | None = None
    metrics_tls: Path = Path()
    agent: AgentSettings = AgentSettings()


class Enrolled(MCOError):
    """The node has a new certificate, and this process much in its memory that only the making of it took."""


class Daemon:
    """One daemon on one machine; `run` holds the machine's lock. `metrics`: what there is to tell of it."""

    def __init__(
        self, host: Host, options: Options, *, clock: Clock | None = None, notifier: Notifier | None = None
    ) -> None:
        self._host = host
        self._options = options
        self._clock = clock or SystemClock()
        self._notifier = notifier or Notifier()
        self._backoff = Backoff(first=0.5, longest=30.0)
        self._status = ""
        self.metrics = Metrics(host, self._clock)

    async def run(self) -> None:
        """Until cancelled. Raises Conflict when another daemon has the machine, InvalidInput and Denied for
        what a person has to change."""
        with MachineLock(self._host.root):
            leftovers.sweep(self._host.root, Journal(self._host.root))
            name = self._options.node_name or self._host.hostname()
            self._notifier.ready()
            with bound(node=name):
                identity = NodeIdentity(self._host.root, name, self._host.machine_id(), self._clock)
                cluster = await self._identify(identity)
                while True:
                    if identity.enrolled and self._options.lean:
                        raise Enrolled("the node has a new certificate")
                    try:
                        cluster = await self._session(name, identity, cluster)
                    except Unauthorized as error:
                        _log.error("the API server does not know this node any more", error=str(error))
                        cluster = await self._identify(identity, fresh=True)
                    _log.info("using a new certificate")

    def exposition(self) -> Exposition:
        """Raises Unavailable where an address is taken."""
        options, secure = self._options, None
        if options.metrics_secure_listen is not None and (cluster := self._given()) is not None:
            secure = Secure(options.metrics_secure_listen, options.metrics_tls, cluster)
        return Exposition(options.metrics_listen, secure)

    @property
    def _is_given(self) -> bool:
        return self._options.kubeconfig is not None or self._options.in_cluster

    def _given(self) -> Cluster | None:
        if self._options.kubeconfig is not None:
            return kubeconfigs.load(self._options.kubeconfig)
        return kubeconfigs.in_cluster(os.environ) if self._options.in_cluster else None

    async def _identify(self, identity: NodeIdentity, *, fresh: bool = False) -> Cluster:
        if (given := self._given()) is not None:
            return given
        while True:
            try:
                return await identity.obtain(fresh=fresh)
            except (InvalidInput, Denied):
                raise
            except MCOError as error:
                await self._again("no certificate yet", error)

    async def _session(self, name: str, identity: NodeIdentity, cluster: Cluster) -> Cluster:
        """Runs with one identity until the next one is there, which it returns."""
        async with Client(cluster, user_agent="mco-daemon") as client, Worker() as worker:
            events = Recorder(client, COMPONENT, names.NAMESPACE, host=name, clock=self._clock)
            agent = Agent(self._context(name, client, worker, events))
            parts = [asyncio.create_task(agent.run())]
            if self._options.register_node:
                parts.append(asyncio.create_task(self._register(name, client, worker, agent)))
            renewal = asyncio.create_task(identity.renewed(client, cluster))
            try:
                done, _ = await asyncio.wait([*parts, renewal], return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                return renewal.result()
            finally:
                for task in (*parts, renewal):
                    task.cancel()
                await asyncio.gather(*parts, renewal, return_exceptions=True)
                await _flushed(events)

    def _context(self, name: str, client: Client, worker: Worker, events: Recorder) -> Context:
        settings = self._options.agent
        return Context(
            host=self._host,
            client=client,
            name=name,
            clock=self._clock,
            worker=worker,
            settings=settings,
            notifier=self._notifier,
            reporter=Reporter(client, events, self._clock, self.metrics.saw),
            pause=Pause(self._notifier, first=settings.first_retry, longest=settings.longest_retry),
            configs=Configs(self._host.root),
            journal=Journal(self._host.root),
            metrics=self.metrics,
        )

    async def _register(self, name: str, client: Client, worker: Worker, agent: Agent) -> None:
        while True:
            try:
                initial = await worker(observe.initial, self._host)
                found = await worker(facts, self._host)
                registration = Registration(client, name, found, self._clock, initial=initial)
                node = await registration.register()
                break
            except Unauthorized as error:
                if not self._is_given:
                    raise
                await self._again("the API server refuses this identity", error)
            except MCOError as error:
                await self._again("node not registered yet", error)
        self._backoff.reset()
        agent.registered(registration)
        await registration.lease(node).run()

    async def _again(self, what: str, error: MCOError) -> None:
        """After a while. What is wrong is said once, not at each attempt."""
        status = f"{what}: {error}"
        if status != self._status:
            level = _log.warning if isinstance(error, Unavailable) else _log.error
            level(what, error=str(error), again="after at most 30 s")
        self._status = status
        self._notifier.status(status)
        await self._clock.sleep(self._backoff.next())


async def _flushed(events: Recorder) -> None:
    """What was said last before the end is worth a moment, not more."""
    try:
        async with asyncio.timeout(2.0):
            await events.flush()
    except TimeoutError:
        _log.warning("some events were not written")


def start(options: Options) -> None:
    """Blocks until SIGTERM or SIGINT. A new certificate starts the program again, as the same process."""
    host = open_host(options.root)
    try:
        asyncio.run(_start(host, msgspec.structs.replace(options, lean=True)))
    except Enrolled:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    finally:
        host.close()


async def _start(host: Host, options: Options) -> None:
    notifier = Notifier()
    clock = SystemClock()
    daemon = Daemon(host, options, clock=clock, notifier=notifier)
    exposition = daemon.exposition()
    parts = {
        "daemon": daemon.run,
        "watchdog": lambda: notifier.keep_alive(clock),
        **exposition.parts(),
    }
    try:
        with exposition.showing(daemon.metrics.families):
            await supervise(parts, grace=STOP_SECONDS)
    except PartFailed as failed:
        # What a person can do about it stands in the cause.
        if not isinstance(failed.__cause__, Enrolled):
            notifier.stopping()
        if isinstance(failed.__cause__, MCOError):
            raise failed.__cause__ from None
        raise
    notifier.stopping()


def first_boot(root: Path) -> bool:
    """Completes the first boot, trying again every minute as long as it takes. Whether a reboot follows."""
    return asyncio.run(_first_boot(root))


async def _first_boot(root: Path) -> bool:
    clock = SystemClock()
    host = open_host(root)
    try:
        with MachineLock(host.root):
            leftovers.sweep(host.root, Journal(host.root))
            while True:
                try:
                    return firstboot.complete(host)
                except Conflict:
                    raise
                except MCOError as error:
                    hint = error.hint or "correct the cause; this is tried again"
                    _log.error("first boot not complete", error=str(error), path=error.path, hint=hint)
                await clock.sleep(FIRSTBOOT_RETRY)
    finally:
        host.close()
