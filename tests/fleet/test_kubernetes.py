"""The whole on a real Kubernetes: its control plane, real kubelets, our payload, a rollout, a take-over."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mco.api import names
from mco.base.errors import NotFound
from mco.lab import checks
from mco.lab.kubernetes import programs
from tests.fleet.program import Running, kubectl
from tests.servers.assets import absent

Start = Callable[..., Running]
EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = 400.0
TAKE_OVER_SECONDS = 30.0
"""A lease of an operator lasts 137 s at least; on a quiet machine the take-over is a matter of two."""

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(bool(checks.missing()), reason="no real machines here"),
    pytest.mark.timeout(900),
]

_APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 2
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: app}}
      containers: [{name: app, image: "localhost/pause:1", imagePullPolicy: Never}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: app}
spec: {minAvailable: 2, selector: {matchLabels: {app: app}}}
"""
_KILL = """
for pid in $(pgrep -f 'mco operator'); do
    if tr '\\0' '\\n' </proc/$pid/environ | grep -qx POD_NAME=$0; then kill -9 $pid; fi
done
"""


class Cluster:
    def __init__(self, mco: Start, kubeconfig: Path) -> None:
        self._mco = mco
        self._kubeconfig = kubeconfig

    def kubectl(self, *argv: str, given: str = "") -> str:
        return kubectl(self._kubeconfig, *argv, given=given)

    def get(self, *argv: str) -> Any:
        return json.loads(self.kubectl("get", *argv, "--output=json"))

    def inside(self, machine: str, *argv: str) -> str:
        program = self._mco("lab", "exec", machine, "--", *argv)
        assert program.ended() == 0, program.output
        return program.output

    def until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Seconds until it holds."""
        began = time.monotonic()
        while not condition():
            assert time.monotonic() < began + patience, self.kubectl(
                "get", "nodes,pods,mcp,mcn", "-o", "wide"
            )
            time.sleep(0.2)
        return time.monotonic() - began

    def boot_ids(self) -> dict[str, str]:
        """As the kubelets report them."""
        nodes = self.get("nodes")["items"]
        return {node["metadata"]["name"]: node["status"]["nodeInfo"]["bootID"] for node in nodes}

    def pods(self) -> set[str]:
        """Of the application, those that are ready."""
        found = self.get("pods", "--selector=app=app")["items"]
        return {pod["metadata"]["name"] for pod in found if condition(pod, "Ready") == "True"}

    def updated(self, source: str) -> bool:
        """Whether the workers have a config that was made of `source`."""
        pool = self.get("mcp", "worker")
        made_of = {each["name"] for each in pool["status"]["configuration"].get("source", ())}
        return source in made_of and condition(pool, "Updated") == "True"

    def leader(self) -> str:
        """The identity of the operator that leads: its Pod's name and a suffix."""
        lease = self.get("lease", names.OPERATOR_LEASE, f"--namespace={names.NAMESPACE}")
        return str(lease["spec"].get("holderIdentity", ""))


def condition(found: Any, wanted: str) -> str:
    return next((str(c["status"]) for c in found["status"].get("conditions", ()) if c["type"] == wanted), "")


@pytest.fixture
def cluster(mco: Start, home: Path) -> Cluster:
    return Cluster(mco, home / "state/mco/instances/default/api/kubeconfig")


def test_a_config_rolls_over_nodes_with_real_kubelets(mco: Start, cluster: Cluster) -> None:
    try:
        programs.find()
    except NotFound as error:
        absent(f"{error}: {error.hint}")
    up = mco("up", "--kubernetes", "--machines", "2")
    up.until("Running until Ctrl-C", PATIENCE)
    _rollout(cluster)
    _take_over(cluster)
    assert up.stop() == 130
    down = mco("down", "--purge")  # images, unpacked three times: more than a test should leave behind
    assert down.ended() == 0, down.output


def _rollout(cluster: Cluster) -> None:
    """Drains respect a budget, and say so; nodes come back with what the config says."""
    cluster.kubectl("apply", "--filename=-", given=_APP)
    cluster.until(lambda: len(cluster.pods()) == 2)
    pods, boot_ids = cluster.pods(), cluster.boot_ids()
    cluster.kubectl("apply", f"--filename={EXAMPLES / 'rollout/70-kernel-argument.yaml'}")

    cluster.until(lambda: "budget app allows 0 disruptions" in cluster.kubectl("get", "mcn", "-o", "json"))
    assert cluster.pods() == pods
    assert cluster.boot_ids() == boot_ids
    cluster.kubectl("patch", "pdb", "app", "--type=merge", '--patch={"spec":{"minAvailable":1}}')

    cluster.until(lambda: cluster.updated("70-kernel-argument"))
    cluster.until(lambda: len(cluster.pods()) == 2)
    assert not cluster.pods() & pods
    after = cluster.boot_ids()
    for node in cluster.get("nodes")["items"]:
        name = node["metadata"]["name"]
        assert condition(node, "Ready") == "True"
        assert not node["spec"].get("unschedulable")
        assert (after[name] != boot_ids[name]) == name.startswith(names.WORKER)
        assert after[name] == cluster.inside(name, "cat", "/proc/sys/kernel/random/boot_id").strip()
        line = cluster.inside(name, "cat", "/proc/cmdline")
        assert ("mitigations=auto,nosmt" in line) == name.startswith(names.WORKER)


def _take_over(cluster: Cluster) -> None:
    """The kubelet proves that the operator's leader is dead: nobody waits for its lease."""
    deployment = ("deployment/machine-config-operator", f"--namespace={names.NAMESPACE}")
    cluster.kubectl("scale", *deployment, "--replicas=2")
    cluster.kubectl("rollout", "status", *deployment, "--timeout=60s")
    cluster.until(lambda: cluster.leader() != "")
    before = cluster.leader()
    pod = before.rpartition("_")[0]
    node = cluster.get("pod", pod, f"--namespace={names.NAMESPACE}")["spec"]["nodeName"]
    cluster.inside(node, "sh", "-c", _KILL, pod)
    assert cluster.until(lambda: cluster.leader() != before) < TAKE_OVER_SECONDS
