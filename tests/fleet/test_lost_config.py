"""A rendered config is deleted past the guard in the middle of a rollout over real machines."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mco.api import names
from mco.lab import checks
from tests.fleet.home import Start
from tests.fleet.program import Running, children_of, kubectl

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(checks.missing()), reason="no real machines here"),
    pytest.mark.timeout(300),
]


class Fleet:
    def __init__(self, up: Running, kubeconfig: Path) -> None:
        self._up = up
        self._kubeconfig = kubeconfig
        self.degraded: set[str] = set()

    def kubectl(self, *argv: str, given: str = "") -> str:
        return kubectl(self._kubeconfig, *argv, given=given)

    def get(self, *argv: str) -> Any:
        return json.loads(self.kubectl("get", *argv, "-o", "json"))

    def argument(self, value: str) -> None:
        """The pool's one kernel argument of ours."""
        metadata = {"name": "70-test", "labels": {names.ROLE_LABEL: "worker"}}
        spec = {"kernelArguments": [value]}
        body = {"apiVersion": names.API_VERSION, "kind": "MachineConfig", "metadata": metadata, "spec": spec}
        self.kubectl("apply", "--server-side=false", "-f", "-", given=json.dumps(body))

    def target(self) -> str:
        name: str = self.get("mcp", "worker")["spec"]["configuration"]["name"]
        return name

    def until(self, holds: Callable[[], bool]) -> None:
        """Whoever is degraded meanwhile is remembered."""

        def looked(_: str) -> bool:
            self.degraded |= {name for name, said in self.nodes().items() if said[names.STATE] == "Degraded"}
            return holds()

        self._up.until(looked)

    def nodes(self) -> dict[str, dict[str, str]]:
        return {n["metadata"]["name"]: n["metadata"]["annotations"] for n in self.get("nodes")["items"]}

    def is_at(self, config: str) -> bool:
        status = self.get("mcp", "worker")["status"]
        return (status["configuration"]["name"], status["updatedMachineCount"]) == (config, 3)

    def uid(self, config: str) -> str:
        """Nothing while there is none of that name."""
        columns = "jsonpath={.metadata.uid}"
        return self.kubectl("get", "machineconfig", config, "--ignore-not-found", "-o", columns)

    def lose(self, config: str) -> None:
        self.kubectl("annotate", "machineconfig", config, f"{names.ALLOW_DELETION}=")
        self.kubectl("delete", "machineconfig", config)


def test_it_comes_back_from_a_machine_and_the_rollout_finishes(mco: Start, home: Path) -> None:
    up = mco("up", "--machines", "3")
    up.until("Running until Ctrl-C")
    fleet = Fleet(up, home / "state/mco/instances/default/api/kubeconfig")
    first = fleet.target()
    fleet.argument("nosmt")
    fleet.until(lambda: fleet.target() != first)
    second = fleet.target()
    fleet.until(lambda: any(said[names.CURRENT_CONFIG] == second for said in fleet.nodes().values()))

    # Some run the second config, some the first, and what they are sent to next is a third. The controller is
    # killed while it restores it, or before.
    fleet.argument("mitigations=off")
    fleet.until(lambda: fleet.target() != second)
    last, uid = fleet.target(), fleet.uid(second)
    fleet.lose(second)
    os.kill(children_of(up.process.pid)["controller"], signal.SIGKILL)
    fleet.until(lambda: fleet.uid(second) not in ("", uid))
    told = fleet.get("events", "-n", names.NAMESPACE)["items"]
    assert any(event["reason"] == "RenderedConfigRestored" and second in event["message"] for event in told)

    fleet.until(lambda: fleet.is_at(last))
    assert fleet.degraded == set()
    assert fleet.kubectl("get", "secrets", "-n", names.NAMESPACE, "-l", names.COPY_LABEL, "-o", "name") == ""
    for machine in ("worker-1", "worker-2", "worker-3"):
        line = mco("lab", "exec", machine, "--", "cat", "/proc/cmdline")
        assert line.ended() == 0, line.output
        assert "mitigations=off" in line.output
        assert "nosmt" not in line.output
    assert up.stop() == 130
