"""How long a lease lasts, and what follows from that (spec/operator.md 2.2, 2.3)."""

from __future__ import annotations

import math

import msgspec

from mco.base.errors import InvalidInput

JITTER = 1.2
"""A candidate waits between `retry` and `(1 + JITTER) * retry` from one attempt to the next."""

_IN_TIME = 0.9
"""What is left to the deadline is not waited for to its end."""


class Timings(msgspec.Struct, frozen=True):
    """Seconds. A holder renews every `retry` or a little sooner, stops when it could not for `renew`, and may
    be replaced `lease` after its last renewal was seen."""

    lease: float
    renew: float
    retry: float

    def checked(self) -> Timings:
        """Raises InvalidInput where the three do not go together."""
        if min(self.lease, self.renew, self.retry) <= 0:
            raise InvalidInput("the durations of a lease are more than 0 s", path="$.leaderElection")
        if self.lease <= self.renew:
            raise InvalidInput(
                f"a lease of {self.lease:g} s does not outlast its renewal deadline of {self.renew:g} s"
            )
        if self.renew <= JITTER * self.retry:
            raise InvalidInput(
                f"a renewal deadline of {self.renew:g} s leaves no time for retries every {self.retry:g} s"
            )
        return self

    @property
    def record_seconds(self) -> int:
        """`leaseDurationSeconds`, which is a whole number of at least one."""
        return max(1, math.ceil(self.lease))

    @property
    def tolerated_outage(self) -> float:
        """How long the API server may be away without a change of leader."""
        return (math.floor(self.renew / self.retry) - 1) * self.retry

    @property
    def renewal(self) -> float:
        """From one renewal to the next. An outage that is tolerated may begin just before one: then there is
        time left for another when it is over, where `retry` alone would leave none."""
        return min(self.retry, _IN_TIME * (self.renew - self.tolerated_outage))

    @property
    def longest_wait(self) -> float:
        """Between two attempts of a candidate, jitter included."""
        return (1 + JITTER) * self.retry

    def facts(self) -> dict[str, float]:
        """For the log: what is in force, and what it means for whoever runs the system. A released lease is
        taken at once by a candidate that watches; `released_at_worst` is for one whose watch is broken."""
        return {
            "lease": self.lease,
            "renew": self.renew,
            "retry": self.retry,
            "tolerated_outage": self.tolerated_outage,
            "released_at_worst": round(self.longest_wait, 1),
            "expired_at_worst": round(self.lease + self.longest_wait, 1),
        }


HIGHLY_AVAILABLE = Timings(lease=137, renew=107, retry=26)
SINGLE_NODE = Timings(lease=270, renew=240, retry=60)


def for_topology(control_plane: str) -> Timings:
    """`control_plane` is `status.controlPlaneTopology` of Infrastructure `cluster`, empty where there is
    none."""
    return SINGLE_NODE if control_plane == "SingleReplica" else HIGHLY_AVAILABLE
