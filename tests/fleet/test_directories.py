"""The tour on directory-rooted hosts: what somebody sees who is not root."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.fleet.program import Running, children_of, processes_with

Start = Callable[..., Running]
EXAMPLES = Path(__file__).parents[2] / "examples"
TOUR = ("up", "--machines", "3", "--tour", "--directories")


def test_the_tour_says_what_it_is_and_proves_what_it_did(mco: Start, home: Path) -> None:
    tour = mco(*TOUR)
    assert tour.ended() == 0, tour.output
    assert "real Ignition engine does not run" in tour.output
    for machine in ("worker-1", "worker-2", "edge-1"):
        evidence = tour.output.partition(f"\n{machine}:\n")[2]
        assert "ok  /etc/sysctl.d/50-tuning.conf" in evidence.partition(":\n")[0]
    assert "NOT" not in tour.output
    assert tour.output.count("ok  boot id") == 3
    assert "machineconfigpool.machineconfiguration.openshift.io/edge" in tour.output
    assert list((home / "state/mco/instances").glob("*.tour")) == []
    assert processes_with(str(home)) == []


def test_ctrl_c_in_the_middle_leaves_nothing(mco: Start, home: Path) -> None:
    tour = mco(*TOUR)
    tour.until("Rolling out")
    assert tour.stop(signal.SIGINT) == 130
    assert list((home / "state/mco/instances").glob("*.tour")) == []
    assert processes_with(str(home)) == []


def test_what_a_kill_left_is_gone_after_the_next_run(mco: Start, home: Path) -> None:
    tour = mco(*TOUR)
    tour.until("provisioning")
    tour.stop(signal.SIGKILL)
    assert list((home / "state/mco/instances").glob("*.tour")) != []
    down = mco("down")
    assert down.ended() == 0, down.output
    assert list((home / "state/mco/instances").glob("*.tour")) == []


def test_a_killed_component_is_started_again_and_the_rollout_ends(mco: Start) -> None:
    tour = mco(*TOUR)
    tour.until("Rolling out")
    parts = children_of(tour.process.pid)
    assert {"apiserver", "operator", "controller", "configserver"} <= set(parts)
    for name in ("controller", "apiserver"):
        os.kill(parts[name], signal.SIGKILL)
    assert tour.ended() == 0, tour.output


def test_up_again_continues_and_down_stops(mco: Start, home: Path) -> None:
    first = mco("up", "--machines", "1", "--directories", "--name", "one")
    first.until("Running until Ctrl-C")
    second = mco("up", "--machines", "1", "--directories", "--name", "one")
    assert second.ended() == 1
    assert 'instance "one" runs already' in second.output
    status = mco("status", "--name", "one")
    assert status.ended() == 0, status.output
    assert "Updated" in status.output and "worker-1" in status.output
    assert first.stop() == 130
    again = mco("up", "--directories", "--name", "one")
    again.until("Running until Ctrl-C")
    assert "provisioning" not in again.output
    # It was up to date when it was stopped; what counts is that its machine runs again.
    before = [line for line in again.output.partition("Running until")[0].splitlines() if "worker-1" in line]
    assert " Done " in before[-1]
    kubeconfig = home / "state/mco/instances/one/api/kubeconfig"
    change = EXAMPLES / "rollout/50-sysctl-file.yaml"
    subprocess.run(["kubectl", f"--kubeconfig={kubeconfig}", "apply", "-f", change], check=True, timeout=30)
    again.until(lambda output: "targeted" in output.partition("Running until")[2])
    down = mco("down", "--name", "one", "--purge")
    assert down.ended() == 0, down.output
    assert again.ended() == 130
    assert not (home / "state/mco/instances/one").exists()
    gone = mco("status", "--name", "one")
    assert gone.ended() == 1
    assert 'instance "one" does not run' in gone.output
