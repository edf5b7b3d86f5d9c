"""Win a lease, act while it is held, give it up when done.

    elector = Elector(Lock(client, namespace, "machine-config", clock), client, me, timings=..., clock=clock)
    await elector.lead(work)        # work(client): a client whose writes stop when the lease is not ours

The order of an end (spec/operator.md 2.5, "Design for ours"): the work is cancelled and gets `grace` seconds;
then writes are refused, whatever still runs; only then the lease is released, with as many attempts as fit
into `release` seconds. A candidate watches the Lease and takes it at once.

No two writers: `check` refuses a write later than the renewal deadline after the last renewal was *sent*,
which is well before anybody else may take the lease. A process that was stopped between the check and the
send wakes up with a write that carries an old resourceVersion.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

from mco.api.core import Lease
from mco.base.errors import Conflict, MCOError, NotFound, Unavailable
from mco.kube.client import Client
from mco.kube.errors import describe
from mco.kube.leader.decide import Create, Seen, Wait, next_step
from mco.kube.leader.holder import Holder, of_lease, proof_of_death
from mco.kube.leader.lock import Lock
from mco.kube.leader.timings import JITTER, Timings
from mco.kube.leader.watch import Watch
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

Work = Callable[[Client], Awaitable[None]]

_log = Logger("mco.leader")
_NEVER = float("-inf")
_AGAIN = 2.0
"""Seconds from a renewal that failed to the next: an outage of nearly the whole deadline is survived."""
_ATTEMPT = 10.0
"""Seconds for one renewal. Where packets get lost, a request that has waited for long hears late that the way
is free again: a new one does not."""


class NotLeading(Unavailable):
    """This process does not hold the lease (any more); nothing was written."""


class Elector:
    """`grace` and `release` are seconds: for the work to stop, and for the attempts to release."""

    def __init__(
        self,
        lock: Lock,
        client: Client,
        me: Holder,
        *,
        timings: Timings,
        clock: Clock,
        grace: float = 10.0,
        release: float = 10.0,
    ) -> None:
        self._lock = lock
        self._client = client
        self._me = me
        self._timings = timings.checked()
        self._clock = clock
        self._grace = grace
        self._release_patience = release
        self._valid_until = _NEVER
        self._lease: Lease | None = None
        self._tried = False

    def check(self) -> None:
        """Raises NotLeading unless the lease is certainly ours at this moment."""
        if self._clock.monotonic() >= self._valid_until:
            raise NotLeading(f"lease {self._lock.name} is not held", subject=f"Lease/{self._lock.name}")

    async def lead(self, work: Work) -> None:
        """Waits for the lease, then runs `work` until it returns, fails, is cancelled or the lease is lost
        (NotLeading). The lease is released whichever way it ends."""
        _log.info("waiting for the lease", lock=self._lock.name, **self._timings.facts())
        try:
            await self._acquire()
            await self._work(work)
        finally:
            self._valid_until = _NEVER
            await _uncancelled(self._release())

    async def _work(self, work: Work) -> None:
        client = self._client.guarded(self.check)
        working = asyncio.create_task(_run(work, client), name="work")
        renewing = asyncio.create_task(self._keep(), name="renew")
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _uncancelled(self._stop(working))
            renewing.cancel()
            await asyncio.wait({renewing})
        for task in (working, renewing):
            if task.done() and not task.cancelled():
                task.result()

    async def _stop(self, working: asyncio.Task[None]) -> None:
        working.cancel()
        _, stuck = await asyncio.wait({working}, timeout=self._grace)
        if stuck:
            _log.error("the work did not stop; its writes are refused", seconds=self._grace)

    # Winning

    async def _acquire(self) -> None:
        watch = Watch(self._client, self._lock.namespace, self._lock.name)
        seen = Seen(None, self._clock.monotonic())
        async with watch.running():
            while True:
                watch.changed.clear()
                try:
                    seen = seen.then(await self._lock.read(), self._clock.monotonic())
                    wait = await self._attempt(seen, watch)
                except MCOError as error:
                    _log.warning("lease not taken", lock=self._lock.name, **describe(error))
                    wait = self._retry()
                if wait is None:
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(watch.changed.wait(), min(wait, self._retry()))

    async def _attempt(self, seen: Seen, watch: Watch) -> float | None:
        """One attempt; seconds until another one makes sense, None when the lease is ours."""
        holder = of_lease(seen.lease) if seen.lease else None
        await watch.follow(holder)
        now = self._clock.monotonic()
        proof = proof_of_death(holder, self._me, watch.pod, watch.node) if holder else ""
        step = next_step(seen, self._me.identity, now, proof)
        if isinstance(step, Wait):
            return step.seconds
        self._tried = True
        try:
            if isinstance(step, Create) or seen.lease is None:
                self._won(await self._lock.create(self._me, self._timings.record_seconds), now, "")
            else:
                lease = await self._lock.take(seen.lease, self._me, self._timings.record_seconds)
                self._won(lease, now, step.because)
        except Conflict:
            return 0.0
        return None

    def _won(self, lease: Lease, sent: float, because: str) -> None:
        self._lease = lease
        self._valid_until = sent + self._timings.renew
        _log.info("leading", lock=self._lock.name, identity=self._me.identity, because=because)

    def _retry(self) -> float:
        return self._timings.retry * random.uniform(1.0, 1.0 + JITTER)

    # Keeping

    async def _keep(self) -> None:
        """Renews again and again, sooner after a failure; raises NotLeading when the lease is another's or
        the deadline passed."""
        wait = self._timings.renewal
        while True:
            await self._clock.sleep(min(wait, self._valid_until - self._clock.monotonic()))
            sent = self._clock.monotonic()
            if sent >= self._valid_until:
                raise self._lost(f"could not be renewed for {self._timings.renew:g} s")
            try:
                async with asyncio.timeout(min(_ATTEMPT, self._timings.retry, self._valid_until - sent)):
                    self._lease = await self._renewed()
            except (MCOError, TimeoutError) as error:
                if isinstance(error, NotLeading):
                    raise
                _log.warning("lease not renewed", lock=self._lock.name, **describe(error))
                wait = min(self._timings.retry, _AGAIN)
            else:
                self._valid_until = sent + self._timings.renew
                wait = self._timings.renewal

    async def _renewed(self) -> Lease:
        """The lease after one renewal. Others may write to a Lease of ours; only another holder ends it."""
        assert self._lease is not None
        seconds = self._timings.record_seconds
        try:
            return await self._lock.renew(self._lease, seconds)
        except Conflict:
            return await self._lock.renew(await self._still_ours(), seconds)
        except NotFound:
            return await self._lock.create(self._me, seconds)

    async def _still_ours(self) -> Lease:
        lease = await self._lock.read()
        if lease is None or lease.spec.holder_identity != self._me.identity:
            holder = (lease.spec.holder_identity if lease else "") or "nobody"
            raise self._lost(f"is held by {holder}")
        return lease

    def _lost(self, why: str) -> NotLeading:
        self._valid_until = _NEVER
        return NotLeading(f"lease {self._lock.name} {why}", subject=f"Lease/{self._lock.name}")

    # Giving up

    async def _release(self) -> None:
        """As many attempts as the time allows: one that fails would cost the next leader the whole lease. An
        attempt to take it that was cut short may have succeeded; then it is released too."""
        if not self._tried:
            return
        wait = 0.1
        try:
            async with asyncio.timeout(self._release_patience):
                while not await self._released():
                    await self._clock.sleep(wait)
                    wait = min(2 * wait, 2.0)
        except TimeoutError:
            _log.error("lease not released in time; it has to expire", seconds=self._release_patience)

    async def _released(self) -> bool:
        try:
            lease = self._lease or await self._lock.read()
            self._lease = None
            if lease is not None and lease.spec.holder_identity == self._me.identity:
                await self._lock.release(lease)
                _log.info("lease released", lock=self._lock.name)
        except MCOError as error:
            _log.warning("lease not released", lock=self._lock.name, **describe(error))
            return False
        return True


async def _run(work: Work, client: Client) -> None:
    await work(client)


async def _uncancelled(ending: Awaitable[None]) -> None:
    """Wait for an ending that has its own time limit, whatever cancels the waiter meanwhile."""
    task = asyncio.ensure_future(ending)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
