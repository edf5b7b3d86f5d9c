"""Candidates and holders on the embedded API server, with the original's durations, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mco.api.core import Lease
from mco.api.resources import CONFIG_MAPS, LEASES, NAMESPACES, NODES, PODS
from mco.apiserver.server import Settings, running
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.errors import Unreachable
from mco.kube.http import HTTPTransport
from mco.kube.leader.elector import Elector, NotLeading
from mco.kube.leader.holder import Holder
from mco.kube.leader.lock import Lock
from mco.kube.leader.timings import HIGHLY_AVAILABLE, SINGLE_NODE, Timings
from mco.kube.requests import Request
from mco.kube.transport import Answer, Stream, Transport
from mco.runtime.virtual import VirtualClock
from tests.kube.scripted import in_virtual_time

NAMESPACE = "ns"
NAME = "machine-config"


class Line:
    """The way of one process to the server. `fails(request)` says what happens to a request: an error is
    raised, None lets it pass."""

    def __init__(self, real: Transport) -> None:
        self._real = real
        self.fails: Callable[[Request], Exception | None] = lambda _: None

    async def send(self, request: Request) -> Answer:
        if error := self.fails(request):
            raise error
        return await self._real.send(request)

    def stream(self, request: Request, timeout: float) -> AbstractAsyncContextManager[Stream]:
        if error := self.fails(request):
            raise error
        return self._real.stream(request, timeout)

    def refused(self) -> None:
        self._real.refused()

    async def close(self) -> None:
        return None


class Process:
    """One candidate: its elector, what it does as a leader, and when it began and ended."""

    def __init__(self, world: World, me: Holder, timings: Timings, work_seconds: float | None) -> None:
        self.line = Line(world.transport)
        client = Client(self.line, patience=0.0)
        lock = Lock(client, NAMESPACE, NAME, world.clock)
        self.me = me
        self.elector = Elector(lock, client, me, timings=timings, clock=world.clock)
        self.leads = asyncio.Event()
        self.began = self.ended = 0.0
        self.client: Client | None = None
        self._stubborn = work_seconds
        self._world = world
        self.task = asyncio.create_task(self.elector.lead(self._work))

    async def _work(self, client: Client) -> None:
        self.client = client
        self.began = self._world.clock.monotonic()
        self.leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            if self._stubborn is not None:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(self._stubborn)
            self.ended = self._world.clock.monotonic()

    async def leading(self) -> None:
        """Waits until it leads; raises what ended it before."""
        waiting = asyncio.create_task(self.leads.wait())
        await asyncio.wait({waiting, self.task}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            self.task.result()

    async def stop(self) -> None:
        """SIGTERM, as the supervisor passes it on."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def die(self) -> None:
        """SIGKILL: nothing is said any more."""
        self.line.fails = lambda _: MCOError("dead")
        await self.stop()


class World:
    def __init__(self, transport: Transport, admin: Client, clock: VirtualClock) -> None:
        self.transport = transport
        self.admin = admin
        self.clock = clock
        self.processes: list[Process] = []

    def start(
        self,
        who: str | Holder,
        *,
        timings: Timings = HIGHLY_AVAILABLE,
        work_seconds: float | None = None,
    ) -> Process:
        me = who if isinstance(who, Holder) else Holder(identity=who)
        self.processes.append(Process(self, me, timings, work_seconds))
        return self.processes[-1]

    async def lease(self) -> Lease:
        return await self.admin.get(LEASES, NAME, namespace=NAMESPACE)


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    clock = VirtualClock(datetime.now(UTC))
    async with running(Settings(data_dir=folder / "api")) as server:
        transport = HTTPTransport(load(server.kubeconfig), user_agent="test")
        async with Client(transport) as admin:
            made = World(transport, admin, clock)
            try:
                yield made
            finally:
                for process in made.processes:
                    await process.stop()


@in_virtual_time
async def test_the_first_candidate_leads_and_another_waits(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        # Nothing was installed before: the namespace is there now.
        await here.admin.get(NAMESPACES, NAMESPACE)
        second = here.start("b")
        await here.clock.sleep(900)
        assert not second.leads.is_set()
        lease = await here.lease()
        assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("a", 137)
        assert lease.spec.lease_transitions == 0


@in_virtual_time
async def test_a_released_lease_is_taken_at_once_after_the_work_has_stopped(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a", work_seconds=4.0)
        await first.leading()
        second = here.start("b")
        await here.clock.sleep(500)
        asked = here.clock.monotonic()
        await first.stop()
        await second.leading()
        assert first.ended == pytest.approx(asked + 4.0, abs=0.5)
        assert first.ended <= second.began <= first.ended + 0.5
        assert (await here.lease()).spec.lease_transitions == 1


@in_virtual_time
async def test_work_that_does_not_stop_is_silenced_before_the_release(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a", work_seconds=3600.0)
        await first.leading()
        second = here.start("b")
        await first.stop()
        await second.leading()
        assert not first.ended and first.client is not None
        with pytest.raises(NotLeading):
            await first.client.create(CONFIG_MAPS, {"metadata": {"name": "late"}}, namespace=NAMESPACE)


@in_virtual_time
async def test_a_killed_holder_costs_its_lease(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        second = here.start("b")
        await here.clock.sleep(300)
        renewed = 300 // 26 * 26
        await first.die()
        await second.leading()
        assert second.began == pytest.approx(renewed + 137, abs=2)


@in_virtual_time
async def test_a_candidate_that_starts_after_the_death_waits_for_a_whole_lease(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a", timings=SINGLE_NODE)
        await first.leading()
        await first.die()
        await here.clock.sleep(100)
        second = here.start("b")
        started = here.clock.monotonic()
        await second.leading()
        # The record's own duration counts, not the candidate's.
        assert second.began == pytest.approx(started + 270, abs=2)


@in_virtual_time
async def test_proof_of_death_ends_the_waiting(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.admin.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        spec = {"nodeName": "m1", "containers": [{"name": "operator", "image": "i"}]}
        body = {"metadata": {"name": "operator-a"}, "spec": spec}
        pod = await here.admin.create(PODS, body, namespace=NAMESPACE)
        uid = pod.metadata.uid
        me = Holder(identity="a", namespace=NAMESPACE, pod=pod.name, pod_uid=uid, container="operator")
        first = here.start(me)
        await first.leading()
        second = here.start("b")
        await here.clock.sleep(30)
        await first.die()
        killed = here.clock.monotonic()
        await here.clock.sleep(1)
        assert not second.leads.is_set()
        terminated = {"exitCode": 137, "message": first.me.last_words}
        status = {"name": "operator", "ready": False, "restartCount": 1, "image": "i", "imageID": ""}
        statuses = [status | {"state": {"waiting": {}}, "lastState": {"terminated": terminated}}]
        await here.admin.patch(
            PODS,
            "operator-a",
            {"status": {"containerStatuses": statuses}},
            namespace=NAMESPACE,
            subresource="status",
        )
        await second.leading()
        assert second.began <= killed + 1.5


@in_virtual_time
async def test_a_rebooted_node_is_proof_a_lost_one_is_not(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        node = await here.admin.create(NODES, {"metadata": {"name": "m1"}})

        async def reports(boot: str) -> None:
            info = {"nodeInfo": {"machineID": "machine-1", "bootID": boot}}
            ready = {"type": "Ready", "status": "Unknown"}
            await here.admin.patch(
                NODES, "m1", {"status": info | {"conditions": [ready]}}, subresource="status"
            )

        await reports("boot-1")
        uid = node.metadata.uid
        me = Holder(identity="a", node="m1", node_uid=uid, machine_id="machine-1", boot_id="boot-1")
        first = here.start(me)
        await first.leading()
        second = here.start("b")
        await here.clock.sleep(20)
        await first.die()
        await reports("boot-1")
        await here.clock.sleep(20)
        assert not second.leads.is_set()
        await reports("boot-2")
        rebooted = here.clock.monotonic()
        await second.leading()
        assert second.began <= rebooted + 0.5


@pytest.mark.parametrize(("timings", "outage"), [(HIGHLY_AVAILABLE, 78), (SINGLE_NODE, 180)])
@in_virtual_time
async def test_an_outage_that_is_tolerated_changes_nothing(
    tmp_path: Path, timings: Timings, outage: float
) -> None:
    """It begins at the worst moment, just before a renewal."""
    async with world(tmp_path) as here:
        first, second = here.start("a", timings=timings), None
        await first.leading()
        second = here.start("b", timings=timings)
        await here.clock.sleep(first.began + 7 * timings.renewal - 0.1 - here.clock.monotonic())
        for process in (first, second):
            process.line.fails = lambda _: Unreachable("away")
        await here.clock.sleep(outage)
        for process in (first, second):
            process.line.fails = lambda _: None
        await here.clock.sleep(400)
        assert not first.task.done() and not second.leads.is_set()
        assert (await here.lease()).spec.lease_transitions == 0


@in_virtual_time
async def test_a_holder_that_cannot_renew_stops_before_another_may_begin(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        second = here.start("b")
        cut_off = here.clock.monotonic()
        first.line.fails = lambda _: Unreachable("away")
        await second.leading()
        assert first.ended <= cut_off + 107 + 0.1
        assert second.began >= cut_off + 137 - 0.1
        assert isinstance(first.task.exception(), NotLeading)


@in_virtual_time
async def test_a_release_that_is_refused_is_tried_again(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        second = here.start("b")
        refusals = [Unreachable("reset"), Unreachable("reset"), Unreachable("reset")]
        first.line.fails = lambda request: refusals.pop() if refusals and not request.reads else None
        stopped = here.clock.monotonic()
        await first.stop()
        await second.leading()
        assert not refusals
        assert second.began <= stopped + 2


@in_virtual_time
async def test_a_release_that_never_succeeds_does_not_keep_the_process(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        first.line.fails = lambda request: None if request.reads else Unreachable("away")
        stopped = here.clock.monotonic()
        await first.stop()
        assert here.clock.monotonic() == pytest.approx(stopped + 10, abs=0.5)


@in_virtual_time
async def test_somebody_who_edits_the_lease_does_not_end_the_leadership(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        for number in range(5):
            await here.clock.sleep(100)
            labels = {"metadata": {"labels": {"looked-at": str(number)}}}
            await here.admin.patch(LEASES, NAME, labels, namespace=NAMESPACE)
        assert not first.task.done()
        assert ((await here.lease()).metadata.labels or {})["looked-at"] == "4"


@in_virtual_time
async def test_a_lease_that_was_taken_away_ends_the_work_at_the_next_renewal(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        await here.admin.patch(LEASES, NAME, {"spec": {"holderIdentity": "human"}}, namespace=NAMESPACE)
        with pytest.raises(NotLeading, match="is held by human"):
            await first.task
        assert first.ended <= first.began + 26.5
        assert (await here.lease()).spec.holder_identity == "human"


@in_virtual_time
async def test_a_lease_that_was_deleted_is_made_again_by_its_holder(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = here.start("a")
        await first.leading()
        await here.admin.delete(LEASES, NAME, namespace=NAMESPACE)
        await here.clock.sleep(60)
        assert not first.task.done()
        assert (await here.lease()).spec.holder_identity == "a"


@in_virtual_time
async def test_a_candidate_that_is_stopped_while_it_takes_the_lease_leaves_none_behind(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        await here.admin.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        first = here.start("a")
        taken = asyncio.Event()
        send = first.line.send

        async def answers_get_lost(request: Request) -> Answer:
            answer = await send(request)
            if request.method == "POST":
                taken.set()
                await asyncio.Event().wait()
            return answer

        first.line.send = answers_get_lost  # type: ignore[method-assign]
        await taken.wait()
        first.line.send = send  # type: ignore[method-assign]
        await first.stop()
        assert not (await here.lease()).spec.holder_identity


@in_virtual_time
async def test_of_many_candidates_one_leads(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        candidates = [here.start(f"c{number}") for number in range(8)]
        for left in range(8, 0, -1):
            await here.clock.sleep(30)
            leading = [c for c in candidates if c.leads.is_set() and not c.task.done()]
            assert len(leading) == 1, left
            await leading[0].stop()
