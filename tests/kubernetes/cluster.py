"""A real cluster that `mco up --kubernetes` runs, as tests see it: with kubectl, and inside its machines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from mco.api import names
from tests.fleet.home import Start
from tests.fleet.program import kubectl

PATIENCE = 300.0
NAMESPACE = f"--namespace={names.NAMESPACE}"
WORKERS = ("worker-1", "worker-2")
MACHINES = ("master-1", *WORKERS)


class Cluster:
    """`folder` is the instance's: logs, images, and the way to the API server."""

    def __init__(self, mco: Start, folder: Path) -> None:
        self.mco = mco
        self.folder = folder
        self.kubeconfig = folder / "api/kubeconfig"

    def kubectl(self, *argv: str, given: str = "") -> str:
        return kubectl(self.kubeconfig, *argv, given=given)

    def get(self, *argv: str) -> Any:
        return json.loads(self.kubectl("get", *argv, "--output=json"))

    def items(self, *argv: str) -> list[Any]:
        return list(self.get(*argv)["items"])

    def inside(self, machine: str, *argv: str) -> str:
        program = self.mco("lab", "exec", machine, "--", *argv)
        assert program.ended() == 0, program.output
        return program.output

    def until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Seconds until it holds."""
        began = time.monotonic()
        while not condition():
            assert time.monotonic() < began + patience, self.kubectl(
                "get", "nodes,pods,mcp,mcn", "--all-namespaces", "--output=wide"
            )
            time.sleep(0.1)
        return time.monotonic() - began

    def boot_ids(self) -> dict[str, str]:
        """As the kubelets report them."""
        return {node["metadata"]["name"]: boot_id(node) for node in self.items("nodes")}

    def settled(self) -> bool:
        """Whether every pool has a config that all its nodes have."""
        return all(condition(pool, "Updated") == "True" for pool in self.items("mcp"))

    def lease(self, name: str = names.OPERATOR_LEASE) -> Any:
        return self.get("lease", name, NAMESPACE)["spec"]

    def leader(self) -> str:
        """The identity of the operator that leads: its Pod's name and a suffix."""
        return str(self.lease().get("holderIdentity") or "")

    def leading_pod(self) -> str:
        return self.leader().rpartition("_")[0]

    def pods(self, component: str = "") -> list[Any]:
        """Ours."""
        selector = f"--selector=k8s-app{f'={component}' if component else ''}"
        return self.items("pods", NAMESPACE, selector)

    def said(self, pod: str, *options: str) -> list[dict[str, Any]]:
        """What a Pod has logged."""
        return lines(self.kubectl("logs", pod, NAMESPACE, *options))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def line(said: Iterable[Mapping[str, Any]], message: str) -> Mapping[str, Any]:
    """The first with this message."""
    return next(each for each in said if each["message"] == message)


def moment(text: str) -> float:
    """Of a log, a Lease or a status."""
    return datetime.fromisoformat(text).timestamp()


def condition(found: Any, wanted: str) -> str:
    said = (found.get("status") or {}).get("conditions") or ()
    return next((str(c["status"]) for c in said if c["type"] == wanted), "")


def boot_id(node: Any) -> str:
    return str(node["status"]["nodeInfo"]["bootID"])


def name(found: Any) -> str:
    return str(found["metadata"]["name"])
