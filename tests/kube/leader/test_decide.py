"""When a lease may be taken, as a table (spec/operator.md 2.4), and the numbers that follow from its
durations (2.2, 2.3)."""

from __future__ import annotations

from typing import Any

import pytest

from mco.api.core import Lease, LeaseSpec
from mco.base.errors import InvalidInput
from mco.kube.leader.decide import Create, Seen, Step, Take, Wait, next_step
from mco.kube.leader.timings import HIGHLY_AVAILABLE, SINGLE_NODE, Timings, for_topology


def lease(holder: str | None, seconds: int | None = 137, **spec: Any) -> Lease:
    return Lease(spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=seconds, **spec))


@pytest.mark.parametrize(
    ("seen", "proof", "step"),
    [
        (Seen(None, 100.0), "", Create()),
        (Seen(lease(""), 100.0), "", Take("it was released")),
        (Seen(lease(None), 100.0), "", Take("it was released")),
        (Seen(lease("me"), 100.0), "", Take("it is held by this process")),
        (Seen(lease("other"), 100.0), "", Wait(137.0)),
        (Seen(lease("other"), 60.0), "", Wait(97.0)),
        (Seen(lease("other"), -37.0), "", Take("it was not renewed in time")),
        (Seen(lease("other", 270), -37.0), "", Wait(133.0)),
        (Seen(lease("other", None), 99.5), "", Wait(0.5)),
        (Seen(lease("other"), 100.0), "it is dead", Take("it is dead")),
    ],
)
def test_what_a_candidate_does(seen: Seen, proof: str, step: Step) -> None:
    assert next_step(seen, "me", 100.0, proof) == step


def test_expiry_counts_from_when_this_record_was_first_seen() -> None:
    seen = Seen(None, 0.0).then(lease("other", renew_time="12:00"), 5.0)
    assert seen.since == 5.0
    assert seen.then(lease("other", renew_time="12:00"), 50.0).since == 5.0
    assert seen.then(lease("other", renew_time="12:01"), 50.0).since == 50.0
    assert seen.then(None, 60.0) == Seen(None, 60.0)


@pytest.mark.parametrize(
    ("topology", "timings", "outage", "released", "expired"),
    [
        ("HighlyAvailable", HIGHLY_AVAILABLE, 78, 57.2, 194.2),
        ("", HIGHLY_AVAILABLE, 78, 57.2, 194.2),
        ("SingleReplica", SINGLE_NODE, 180, 132.0, 402.0),
    ],
)
def test_the_originals_numbers(
    topology: str, timings: Timings, outage: float, released: float, expired: float
) -> None:
    assert for_topology(topology) == timings == timings.checked()
    facts = timings.facts()
    assert facts["tolerated_outage"] == outage
    assert (facts["released_at_worst"], facts["expired_at_worst"]) == (released, expired)


@pytest.mark.parametrize(
    ("timings", "part"),
    [
        (Timings(lease=107, renew=107, retry=26), "does not outlast"),
        (Timings(lease=137, renew=30, retry=26), "leaves no time"),
        (Timings(lease=137, renew=107, retry=0), "more than 0 s"),
    ],
)
def test_durations_that_do_not_go_together(timings: Timings, part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        timings.checked()
