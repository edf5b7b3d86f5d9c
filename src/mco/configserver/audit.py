"""Who joined with which token, and who was refused, as Events of the pool (design.md 6).

Only decisions about identities become Events: a machine without a token is in the log alone. Refusals can be
caused by anybody who reaches the port, and a machine that cannot join asks again for ever; so only so many of
each a minute reach the API server. The log has them all.
"""

from __future__ import annotations

from mco.api import names
from mco.api.meta.objects import ObjectReference
from mco.configserver.admission import Admission, Refused
from mco.configserver.front import Request
from mco.kube.events import NORMAL, WARNING, EventSink
from mco.runtime.clock import Clock

SERVED, REFUSED = "MachineConfigServed", "MachineConfigRefused"
COMPONENT = "machineconfigserver"
_WINDOW = 60.0
_PER_WINDOW = {SERVED: 600, REFUSED: 30}


class EventAudit:
    """See `front.Audit`. The same thing said again within a minute is one event."""

    def __init__(self, events: EventSink, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._window = float("-inf")
        self._said: set[tuple[str, ...]] = set()
        self._counts = dict.fromkeys(_PER_WINDOW, 0)

    def served(self, request: Request, pool: str, config: str, admission: Admission) -> None:
        if not admission.token_id or not self._news(SERVED, pool, config, admission.token_id):
            return
        machine = (
            f"machine {admission.machine}" if admission.machine else f"a machine at {_host(request.peer)}"
        )
        message = f"{machine} was served {config} with join token {admission.token_id}"
        self._events.event(_pool(pool), NORMAL, SERVED, message)

    def refused(self, request: Request, pool: str, refusal: Refused) -> None:
        host = _host(request.peer)
        if not self._news(REFUSED, pool, host, refusal.token_id, refusal.message):
            return
        with_token = f" with join token {refusal.token_id}" if refusal.token_id else ""
        message = f"a machine at {host}{with_token} was refused: {refusal.message}"
        self._events.event(_pool(pool), WARNING, REFUSED, message)

    def _news(self, reason: str, *what: str) -> bool:
        """Whether this has not been said in this window, and there is room for it."""
        now = self._clock.monotonic()
        if now - self._window >= _WINDOW:
            self._window = now
            self._said.clear()
            self._counts = dict.fromkeys(_PER_WINDOW, 0)
        if (reason, *what) in self._said or self._counts[reason] >= _PER_WINDOW[reason]:
            return False
        self._said.add((reason, *what))
        self._counts[reason] += 1
        return True


def _pool(name: str) -> ObjectReference:
    return ObjectReference(kind="MachineConfigPool", name=name, api_version=names.API_VERSION)


def _host(peer: str) -> str:
    return peer.rpartition(":")[0] or "an unknown address"
