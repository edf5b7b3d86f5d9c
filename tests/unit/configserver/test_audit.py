"""Which decisions become events, and how many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mco.api.meta.objects import Object, ObjectReference
from mco.configserver.admission import Admission, Refused
from mco.configserver.audit import REFUSED, SERVED, EventAudit
from mco.configserver.front import Request


class Clock:
    seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Events:
    def __init__(self) -> None:
        self.all: list[tuple[str, str, str]] = []

    def event(self, regarding: Object | ObjectReference, type_: str, reason: str, message: str) -> None:
        self.all.append((regarding.name, reason, message))


def asked(peer: str = "10.0.0.1:4000") -> Request:
    return Request(method="GET", target="/config/worker", peer=peer)


def admitted(number: int = 0) -> Admission:
    return Admission("secret", f"id{number:04}", f"w{number}")


def test_a_join_is_told_once_a_minute() -> None:
    events, clock = Events(), Clock()
    audit = EventAudit(events, clock)
    for _ in range(100):
        audit.served(asked(), "worker", "rendered-worker-1", admitted())
    assert events.all == [
        ("worker", SERVED, "machine w0 was served rendered-worker-1 with join token id0000"),
    ]
    audit.served(asked(), "worker", "rendered-worker-2", admitted())
    clock.seconds += 60
    audit.served(asked(), "worker", "rendered-worker-2", admitted())
    assert len(events.all) == 3


def test_a_machine_without_a_token_of_its_own_is_no_event() -> None:
    events = Events()
    EventAudit(events, Clock()).served(asked(), "worker", "rendered-worker-1", Admission("shared"))
    assert not events.all


def test_joins_and_refusals_are_limited_apart() -> None:
    """A flood of strangers hides no join, and a fleet that boots at once does not flood the API."""
    events, clock = Events(), Clock()
    audit = EventAudit(events, clock)
    for number in range(1000):
        audit.refused(asked(f"10.0.{number // 250}.{number % 250}:1"), "worker", Refused("no", status=401))
        audit.served(asked(), "worker", "rendered-worker-1", admitted(number))
    reasons = [reason for _, reason, _ in events.all]
    assert (reasons.count(REFUSED), reasons.count(SERVED)) == (30, 600)
    clock.seconds += 60
    audit.served(asked(), "worker", "rendered-worker-1", admitted(999))
    assert len(events.all) == 631


def test_secrets_are_in_no_event() -> None:
    events = Events()
    EventAudit(events, Clock()).served(asked(), "worker", "rendered-worker-1", admitted())
    assert "secret" not in str(events.all)
