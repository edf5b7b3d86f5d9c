"""Rollouts in virtual time: the planner, simulated nodes, and hours that cost nothing."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.sim.rehearsal import Rehearsal, Scene, rehearse
from mco.sim.script import Script, Span

MINUTE = 60.0


def config(name: str, text: str, path: str = "/etc/motd") -> dict[str, Any]:
    file = {"path": path, "contents": {"source": f"data:,{text}"}}
    document = {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}
    return {"metadata": {"name": name}, "spec": {"config": document}}


def play(
    count: int, away: int | str, script: Script, *, path: str = "/etc/motd", limit: float = 86400.0
) -> Rehearsal:
    spec = {"maxUnavailable": away, "configuration": {"name": "rendered-worker-2"}}
    pool = msgspec.convert({"metadata": {"name": names.WORKER}, "spec": spec}, MachineConfigPool)
    return rehearse(
        Scene(
            pool=pool,
            nodes=[f"n{number:03}" for number in range(count)],
            old=config("rendered-worker-1", "one", path),
            new=config("rendered-worker-2", "two", path),
            script=script,
            limit=limit,
        )
    )


def test_a_rollout_takes_as_long_as_its_parts_one_group_after_the_other() -> None:
    script = Script(drain=Span(300, 300), apply=Span(60, 60), reboot=Span(240, 240))
    seen = play(10, 2, script)
    assert seen.seconds == pytest.approx(5 * 10 * MINUTE, abs=5)
    assert seen.away == 2
    assert set(seen.boots.values()) == {1}


def test_a_change_that_needs_no_reboot_takes_only_itself() -> None:
    script = Script(drain=Span(300, 300), apply=Span(60, 60), reboot=Span(240, 240))
    seen = play(10, "50%", script, path="/etc/nmstate/openshift/x.yml")
    assert seen.seconds == pytest.approx(2 * MINUTE, abs=5)
    assert (seen.away, set(seen.boots.values())) == (5, {0})


@pytest.mark.parametrize("seed", range(3))
def test_no_more_than_maxunavailable_are_ever_away_and_nobody_reboots_twice(seed: int) -> None:
    script = Script(
        seed=seed, drain=Span(0, 600), apply=Span(1, 90), reboot=Span(30, 400), failing=0.2, retry=20
    )
    seen = play(40, 7, script)
    assert seen.seconds is not None and seen.failing == ()
    assert seen.away == 7
    assert set(seen.boots.values()) == {1}
    assert play(40, 7, script) == seen


def test_nodes_that_never_succeed_hold_the_rollout_at_maxunavailable() -> None:
    script = Script(failing=1.0, failures=math.inf, retry=30)
    seen = play(20, 3, script, limit=3600.0)
    assert seen.seconds is None
    assert len(seen.failing) == 3
    assert set(seen.boots.values()) == {0}


def test_many_nodes_in_virtual_hours() -> None:
    script = Script(drain=Span(30, 300), apply=Span(5, 20), reboot=Span(60, 240))
    seen = play(200, "10%", script)
    assert seen.seconds is not None and 3600 > seen.seconds > 10 * 95
    assert seen.away == 20
