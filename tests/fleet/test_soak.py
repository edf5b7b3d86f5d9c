"""A short soak: parts of a fleet are killed at random while it rolls out, and nothing comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.soaking import Plan, soak


@pytest.mark.timeout(600)
async def test_whatever_is_killed_every_machine_gets_there_once(tmp_path: Path) -> None:
    plan = Plan(seed=5, seconds=8.0, machines=3, directories=True, outage=6.0, pause=(0.3, 1.5))
    seen = await soak(tmp_path, plan)
    assert seen.wrong == ()
    assert seen.rollouts >= 2 and seen.kills >= 5 and seen.reboots >= 3
    assert 1 <= seen.most_away <= plan.max_unavailable
