"""The tour on directory-rooted hosts: what somebody sees who is not root."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.program import Running, children_of, kubectl, processes_with

Start = Callable[..., Running]
EXAMPLES = Path(__file__).parents[2] / "examples"
NOTHING_TO_RENDER = """
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: lonely}
spec:
  machineConfigSelector:
    matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [lonely]}]
  nodeSelector: {matchLabels: {node-role.kubernetes.io/lonely: ""}}
"""
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


@pytest.mark.parametrize(
    ("stage", "signals"),
    [
        ("API server:", [signal.SIGINT]),
        ("provisioning", [signal.SIGTERM, signal.SIGTERM]),
        ("Rolling out", [signal.SIGINT, signal.SIGINT, signal.SIGHUP]),
    ],
)
def test_a_signal_at_any_stage_leaves_nothing(
    mco: Start, home: Path, stage: str, signals: list[signal.Signals]
) -> None:
    """The signals after the first, as those of an impatient person, do not interrupt the cleaning up."""
    tour = mco(*TOUR)
    tour.until(stage)
    for number in signals:
        tour.process.send_signal(number)
    assert tour.ended() == 130, tour.output
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
    # A pool of somebody's that nothing can be rendered for, and without machines: nobody waits for it.
    kubectl(home / "state/mco/instances/one/api/kubeconfig", "create", "-f", "-", given=NOTHING_TO_RENDER)
    assert first.stop() == 130
    again = mco("up", "--machines", "2", "--directories", "--name", "one")
    again.until("Running until Ctrl-C")
    assert "worker-1   provisioning" not in again.output
    assert "worker-2   provisioning" in again.output
    # It was up to date when it was stopped; what counts is that its machine runs again.
    before = [line for line in again.output.partition("Running until")[0].splitlines() if "worker-1" in line]
    assert " Done " in before[-1]
    kubeconfig = home / "state/mco/instances/one/api/kubeconfig"
    change = EXAMPLES / "rollout/50-sysctl-file.yaml"
    subprocess.run(["kubectl", f"--kubeconfig={kubeconfig}", "apply", "-f", change], check=True, timeout=30)
    # Whichever phases the progress happens to catch, the machines are seen on their way.
    again.until(lambda output: " rendered-worker-" in output.partition("Running until")[2])
    down = mco("down", "--name", "one", "--purge")
    assert down.ended() == 0, down.output
    assert again.ended() == 130
    assert not (home / "state/mco/instances/one").exists()
    gone = mco("status", "--name", "one")
    assert gone.ended() == 1
    assert 'instance "one" does not run' in gone.output


def test_what_keeps_an_instance_from_starting_is_named(mco: Start, home: Path) -> None:
    up = ("up", "--machines", "0", "--directories", "--name", "one")
    first = mco(*up)
    first.until("Running until Ctrl-C")
    assert first.stop() == 130
    folder = home / "state/mco/instances/one"

    port = json.loads((folder / "instance.json").read_text())["api"]
    with socket.create_server(("127.0.0.1", port)):
        taken = mco(*up)
        assert taken.ended() == 1
    assert f"port {port} on 127.0.0.1 is taken by another process" in taken.output
    assert "mco down --name one --purge" in taken.output

    (database,) = (folder / "api").glob("*.db")
    database.write_bytes(b"garbage" * 1000)
    unreadable = mco(*up)
    assert unreadable.ended() == 1
    assert "apiserver does not start: it ended with exit code 1, 3 times in a row" in unreadable.output
    assert str(database) in unreadable.output.partition("it said last:")[2]

    (folder / "api/ca.key").write_text("garbage")
    keyless = mco(*up)
    assert keyless.ended() == 1
    assert "ca.key" in keyless.output
    assert processes_with(str(home)) == []
