"""How long nobody leads: real processes on a real kube-apiserver (spec/operator.md 2).

With the original's durations where they are not waited for. A lease that has to expire lasts 5 s in place of
137, and outages are left out, unless MCO_UNSCALED=1 asks for all of them as they are, in nine minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

from bench import Measurement
from mco.api import names
from mco.api.resources import LEASES, NAMESPACES, PODS
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import AlreadyExists, NotFoundError
from mco.kube.leader.timings import HIGHLY_AVAILABLE, SINGLE_NODE, Timings
from tests.handover.permissions import permitted
from tests.handover.processes import COMPONENT, LEADS, OPERATOR, WAITS, Running, durations, processes
from tests.handover.replay import BOTH, LEASE, NONE, replay
from tests.handover.way import way
from tests.servers.assets import located
from tests.servers.real import RealServer, real_server

_ROUNDS = 9
_SCALED = Timings(lease=5, renew=4, retry=1)
_GRACEFUL = "original: median 17 s, worst 40 s; single node 77, 101 s"
_EXPIRED = "original: 152 to 260 s for a lease of 137 s"
_SLACK = 2.0
"""Seconds for a lease that expired, a busy machine included."""


def measure() -> Iterator[Measurement]:
    assets = located()
    if assets is None:
        print("  no real kube-apiserver here: make servers", file=sys.stderr)
        return
    unscaled = bool(os.environ.get("MCO_UNSCALED"))
    with (
        tempfile.TemporaryDirectory(prefix="mco-handover-") as name,
        real_server(assets, Path(name)) as server,
    ):
        bench = _Bench(server, Path(name), HIGHLY_AVAILABLE if unscaled else _SCALED)
        for one in (bench.graceful, bench.proved, bench.killed, bench.refused, bench.replayed):
            yield from asyncio.run(bench.alone(one))
        for timings in (HIGHLY_AVAILABLE, SINGLE_NODE) if unscaled else ():
            yield from asyncio.run(bench.alone(partial(bench.away, timings=timings)))


class _Bench:
    """`timings` are those of a lease that is waited for."""

    def __init__(self, server: RealServer, folder: Path, timings: Timings) -> None:
        self._server = server
        self._folder = folder
        self._timings = timings

    async def alone(self, one: Callable[[Client], Awaitable[list[Measurement]]]) -> list[Measurement]:
        """Nobody leads when it starts."""
        async with Client(load(self._server.kubeconfig)) as admin:
            with contextlib.suppress(AlreadyExists):
                await admin.create(NAMESPACES, {"metadata": {"name": names.NAMESPACE}})
            with contextlib.suppress(NotFoundError):
                await admin.delete(LEASES, names.OPERATOR_LEASE, namespace=names.NAMESPACE)
            return await one(admin)

    async def graceful(self, _: Client) -> list[Measurement]:
        """Operators, one after the other; each is a standby before it leads."""
        took: list[float] = []
        async with processes({}) as starter:
            leader = await starter.start(OPERATOR, self._server.kubeconfig)
            await leader.said(LEADS)
            for _round in range(_ROUNDS):
                standby = await starter.start(OPERATOR, self._server.kubeconfig)
                await standby.said(WAITS)
                took.append(-leader.terminate() + await standby.said(LEADS))
                await leader.ended()
                leader = standby
        what = "stopped, with a standby"
        return [
            Measurement(f"{what}, median", statistics.median(took), "s", 0.5, _GRACEFUL),
            Measurement(f"{what}, worst of {_ROUNDS}", max(took), "s", 0.5, _GRACEFUL),
        ]

    async def proved(self, admin: Client) -> list[Measurement]:
        """A kubelet's report of the container's end is written as soon as the process is gone."""
        spec = {"nodeName": "m1", "containers": [{"name": "operator", "image": "localhost/mco"}]}
        body = {"metadata": {"name": "operator-a"}, "spec": spec}
        pod = await admin.create(PODS, body, namespace=names.NAMESPACE)
        log = self._folder / "termination-log"
        container = {
            "POD_NAMESPACE": names.NAMESPACE,
            "POD_NAME": pod.name,
            "POD_UID": pod.metadata.uid,
            "CONTAINER_NAME": "operator",
        }
        async with processes({}) as starter:
            leader = await starter.start(
                COMPONENT, self._server.kubeconfig, f"--termination-log={log}", environment=container
            )
            await leader.said(LEADS)
            standby = await starter.start(COMPONENT, self._server.kubeconfig)
            await standby.said(WAITS)
            killed = leader.kill()
            await leader.ended()
            ended = {"exitCode": 137, "message": await asyncio.to_thread(log.read_text)}
            status = {"name": "operator", "ready": False, "restartCount": 0, "image": "", "imageID": ""}
            statuses = [status | {"state": {"terminated": ended}}]
            said = {"status": {"containerStatuses": statuses}}
            await admin.patch(PODS, pod.name, said, namespace=names.NAMESPACE, subresource="status")
            took = await standby.said(LEADS) - killed
        return [Measurement("killed, with proof of death", took, "s", 5, _EXPIRED)]

    async def killed(self, _: Client) -> list[Measurement]:
        async with self._pair(self._server.kubeconfig) as (leader, standby):
            took = -leader.kill() + await standby.said(LEADS, patience=self._timings.lease + 60)
        return [self._expired("killed, without proof", took)]

    async def refused(self, admin: Client) -> list[Measurement]:
        """The leader's permissions are gone when it is stopped."""
        kubeconfig = self._folder / "leader"
        kubeconfig.write_bytes(self._server.mint_kubeconfig("leader"))
        async with permitted(admin, "leader") as allow, self._pair(kubeconfig) as (leader, standby):
            await allow(False)
            asked = leader.terminate()
            await leader.said("lease not released")
            took = await standby.said(LEADS, patience=self._timings.lease + 60) - asked
        return [self._expired("stopped, release refused by RBAC", took)]

    async def replayed(self, admin: Client) -> list[Measurement]:
        good = await replay(self._server, admin, self._folder, NONE)
        bad = await replay(self._server, admin, self._folder, BOTH)
        faults = f"with both faults of the report {bad.took:.2g} s, a lease of {LEASE:g} s"
        return [Measurement("the next version, from ready to leading", good.took, "s", 1, faults)]

    async def away(self, _: Client, timings: Timings) -> list[Measurement]:
        """For as long as an API server may be away."""
        given = durations(timings.lease, timings.renew, timings.retry)
        async with way(self._server, self._folder) as (line, proxy), processes(given) as starter:
            leader = await starter.start(COMPONENT, line.kubeconfig)
            await leader.said(LEADS)
            line.renewed.clear()
            await line.renewed.wait()
            await proxy.stop()
            await asyncio.sleep(timings.tolerated_outage)
            await proxy.start()
            line.renewed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timings.lease):
                    await line.renewed.wait()
            lost = 0 if leader.runs else 1
        what = f"leaders lost in an outage of {timings.tolerated_outage:g} s"
        return [Measurement(what, lost, "", 0, f"lease {timings.lease:g} s")]

    @contextlib.asynccontextmanager
    async def _pair(self, kubeconfig: Path) -> AsyncIterator[tuple[Running, Running]]:
        """A leader that is reached through `kubeconfig`, and its standby."""
        given = durations(self._timings.lease, self._timings.renew, self._timings.retry)
        async with processes(given) as starter:
            leader = await starter.start(COMPONENT, kubeconfig)
            await leader.said(LEADS)
            standby = await starter.start(COMPONENT, self._server.kubeconfig)
            await standby.said(WAITS)
            yield leader, standby

    def _expired(self, what: str, took: float) -> Measurement:
        lease = self._timings.lease
        return Measurement(f"{what}, a lease of {lease:g} s", took, "s", lease + _SLACK, _EXPIRED)
