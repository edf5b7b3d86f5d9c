"""Rollouts while parts of the system are killed at random: API server, controller, operator, config server
and daemons, with SIGKILL; once the API server stays away. On directory-rooted hosts and, where this host can
boot them, on real machines.

The choice of victims and changes comes from a seed (MCO_SOAK_SEED), the length from MCO_SOAK_SECONDS, both
for each kind of machine. In the end everything has converged, no machine has rebooted but for a change that
needs it, never more nodes than `maxUnavailable` were on their way at once, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import Measurement
from bench.soaking import Outcome, Plan, soak
from mco.lab import checks

SECONDS = float(os.environ.get("MCO_SOAK_SECONDS", "900"))
SEED = int(os.environ.get("MCO_SOAK_SEED", "1"))
OUTAGE = 120.0


def measure() -> Iterator[Measurement]:
    yield from _measured("directory-rooted hosts", directories=True)
    if missing := checks.missing():
        print(f"  no soak on real machines: {missing[0].name}: {missing[0].found}")
        return
    yield from _measured("real machines", directories=False)


def _measured(what: str, *, directories: bool) -> Iterator[Measurement]:
    plan = Plan(seed=SEED, seconds=SECONDS, machines=4, directories=directories, outage=OUTAGE)
    with tempfile.TemporaryDirectory() as folder:
        seen: Outcome = asyncio.run(soak(Path(folder), plan))
    for line in seen.wrong:
        print(f"  {line}")
    said = f"seed {SEED}, {seen.kills} kills, {seen.reboots} reboots"
    yield Measurement(f"{what}: rollouts", seen.rollouts, "", 1, said, at_least=True)
    yield Measurement("  nodes on their way at once", seen.most_away, "", plan.max_unavailable)
    yield Measurement("  slowest rollout", seen.slowest, "s", 180)
    yield Measurement("  what is wrong in the end", len(seen.wrong), "", 0)
