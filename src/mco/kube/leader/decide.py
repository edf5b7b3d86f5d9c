"""What a candidate does about a lease: a function of what it saw and since when (spec/operator.md 2.4)."""

from __future__ import annotations

import msgspec

from mco.api.core import Lease


class Seen(msgspec.Struct, frozen=True):
    """The Lease (None: there is none) and the monotonic time at which it was first seen to be like that.
    Expiry is judged by this observation, never by the times in the record: those are another machine's."""

    lease: Lease | None
    since: float

    def then(self, lease: Lease | None, now: float) -> Seen:
        """The next observation: a record that did not change keeps its time."""
        if self.lease is not None and lease is not None and self.lease.spec == lease.spec:
            return Seen(lease, self.since)
        return Seen(lease, now)


class Create(msgspec.Struct, frozen=True):
    """There is no Lease."""


class Take(msgspec.Struct, frozen=True):
    because: str


class Wait(msgspec.Struct, frozen=True):
    """`seconds` until it may be taken, unless somebody renews it."""

    seconds: float


Step = Create | Take | Wait


def next_step(seen: Seen, identity: str, now: float, proof: str = "") -> Step:
    """`proof` says why the holder is certainly gone, where that is known."""
    if seen.lease is None:
        return Create()
    spec = seen.lease.spec
    if not spec.holder_identity:
        return Take("it was released")
    if spec.holder_identity == identity:
        return Take("it is held by this process")
    if proof:
        return Take(proof)
    left = seen.since + (spec.lease_duration_seconds or 1) - now
    return Wait(left) if left > 0 else Take("it was not renewed in time")
