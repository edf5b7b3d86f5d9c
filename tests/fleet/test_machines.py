"""The tour on real machines: systemd, real Ignition, real reboots."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mco.lab import checks
from tests.fleet.program import Running, kubectl

Start = Callable[..., Running]
TOUR = ("up", "--machines", "3", "--tour")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(checks.missing()), reason="no real machines here"),
    pytest.mark.timeout(300),
]


def test_the_tour_proves_itself_inside_each_machine(mco: Start) -> None:
    tour = mco(*TOUR)
    assert tour.ended() == 0, tour.output
    assert "NOT" not in tour.output
    for what, times in {
        "SSH login": 3,
        "boot id": 3,
        "kernel arguments": 3,
        "unit heartbeat.service": 3,
    }.items():
        assert tour.output.count(f"ok  {what}") == times, tour.output
    assert "Ready    edge,worker" in tour.output


def test_two_instances_side_by_side_and_a_kill(mco: Start) -> None:
    """One is ended with SIGTERM in the middle, one killed; the next run cleans up, as the fixture checks."""
    one, two = mco(*TOUR, "--name", "one"), mco("up", "--machines", "1", "--name", "two")
    one.until("Rolling out")
    assert one.stop(signal.SIGTERM) == 130
    two.until("Running until Ctrl-C")
    two.stop(signal.SIGKILL)
    down = mco("down", "--name", "two", "--purge")
    assert down.ended() == 0, down.output


def test_a_crashed_machine_comes_back_and_finishes(mco: Start, home: Path) -> None:
    up = mco("up", "--machines", "1")
    up.until("Running until Ctrl-C")
    kubeconfig = home / "state/mco/instances/default/api/kubeconfig"

    examples = Path(__file__).parents[2] / "examples/rollout"
    kubectl(kubeconfig, "apply", "-f", str(examples / "70-kernel-argument.yaml"))
    crash = mco("lab", "crash", "worker-1")
    assert crash.ended() == 0, crash.output
    kubectl(kubeconfig, "wait", "mcp/worker", "--for=condition=Updated", "--timeout=60s")

    def arrived() -> bool:
        pool = json.loads(kubectl(kubeconfig, "get", "mcp", "worker", "-o", "json"))
        return (
            pool["status"]["configuration"]["name"] == pool["spec"]["configuration"]["name"]
            and "70-kernel-argument" in {s["name"] for s in pool["spec"]["configuration"]["source"]}
            and pool["status"]["updatedMachineCount"] == 1
        )

    up.until(lambda _: arrived())
    line = mco("lab", "exec", "worker-1", "--", "cat", "/proc/cmdline")
    assert line.ended() == 0, line.output
    assert "mitigations=auto,nosmt" in line.output
    assert up.stop() == 130
