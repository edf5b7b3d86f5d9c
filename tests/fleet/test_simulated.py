"""`mco up --simulate`: a fleet without machines, for whoever is not root."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.program import Running, children_of, kubectl, processes_with
from tests.scrape import families, series

Start = Callable[..., Running]
EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.timeout(400)


def test_a_simulated_fleet_rolls_out_and_leaves_no_process(mco: Start, home: Path) -> None:
    up = mco("up", "--simulate", "30")
    up.until("Running until Ctrl-C")
    assert "30 nodes   30 Done" in up.output
    assert "simulate" in children_of(up.process.pid)
    kubeconfig = home / "state/mco/instances/default/api/kubeconfig"
    faster = '{"spec":{"maxUnavailable":"50%"}}'
    kubectl(kubeconfig, "patch", "mcp", "worker", "--type=merge", "-p", faster)
    kubectl(kubeconfig, "apply", "-f", str(EXAMPLES / "rollout/50-sysctl-file.yaml"))

    def rolled_out(output: str) -> bool:
        """Some were seen working, then all are done."""
        later = output.partition("Running until Ctrl-C")[2]
        return "Working" in later and later.rstrip().splitlines()[-1].count("30 Done") == 1

    up.until(rolled_out)
    controller, server = told(home, "controller_metrics"), told(home, "configserver_metrics")
    assert series(controller)["mco_machine_count", "worker"] == 30
    assert "mcs_requests" in families(server)
    assert up.stop() == 130
    assert processes_with(str(home)) == []

    fewer = mco("up", "--simulate", "10")
    fewer.until("Running until Ctrl-C")
    assert len(kubectl(kubeconfig, "get", "nodes", "-o", "name").split()) == 10
    assert fewer.stop() == 130


def told(home: Path, port: str) -> str:
    """What Prometheus is told at a port of the instance."""
    ports = json.loads((home / "state/mco/instances/default/instance.json").read_text())
    with urllib.request.urlopen(f"http://127.0.0.1:{ports[port]}/metrics") as answer:
        text: bytes = answer.read()
    return text.decode()


def test_a_tour_without_machines_is_refused(mco: Start) -> None:
    tour = mco("up", "--tour", "--simulate", "3")
    assert tour.ended() == 2
    assert "--simulate" in tour.output
