"""What became of objects while a story was told: each of their versions, as the API server had them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mco.api import names
from tests.kubernetes.cluster import Cluster, name

OURS = f"namespaces/{names.NAMESPACE}"
POOLS = f"apis/{names.GROUP}/v1/machineconfigpools"
REPORTS = f"apis/{names.GROUP}/v1/machineconfignodes"
CONFIGS = f"apis/{names.GROUP}/v1/machineconfigs"
SETTINGS = f"apis/{names.OPERATOR_GROUP}/v1/machineconfigurations"
OPERATORS = "apis/config.openshift.io/v1/clusteroperators"
NODES = "api/v1/nodes"
PODS = f"api/v1/{OURS}/pods"
LEASES = f"apis/coordination.k8s.io/v1/{OURS}/leases"
BINDINGS = "apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
CONDITIONS = (POOLS, REPORTS, SETTINGS, OPERATORS)
"""What says how we are."""


class Version(NamedTuple):
    """`event` is ADDED, MODIFIED or DELETED. Revisions order the versions of all objects of a cluster."""

    event: str
    object: Any

    @property
    def revision(self) -> int:
        return int(self.object["metadata"]["resourceVersion"])


class Record:
    """By the paths of collections. It can be read while it is written."""

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = files

    def of(self, path: str, wanted: str = "") -> list[Version]:
        """All versions of the objects there, or of one, in order."""
        whole = self._files[path].read_text().rpartition("\n")[0]
        events = [json.loads(line) for line in whole.splitlines()]
        found = [Version(event["type"], event["object"]) for event in events]
        return [version for version in found if wanted in ("", name(version.object))]

    def first(self, path: str, wanted: str, event: str = "ADDED") -> Version:
        return next(version for version in self.of(path, wanted) if version.event == event)

    def flips(self, wanted: str, status: str) -> list[str]:
        """Which of those that say how they are said this of a condition, and in which words."""
        return [
            f"{name(version.object)}: {condition}"
            for path in CONDITIONS
            if path in self._files
            for version in self.of(path)
            for condition in (version.object.get("status") or {}).get("conditions") or ()
            if (condition["type"], condition["status"]) == (wanted, status)
        ]


@contextmanager
def recording(cluster: Cluster, folder: Path, *paths: str) -> Iterator[Record]:
    """From now on, beginning with what is there."""
    files = {path: folder / f"{number}.events" for number, path in enumerate(paths)}
    with ExitStack() as stack:
        watches = []
        for path, file in files.items():
            query = f"/{path}?watch=1&timeoutSeconds=3600"
            argv = ["kubectl", f"--kubeconfig={cluster.kubeconfig}", "get", f"--raw={query}"]
            watch = stack.enter_context(subprocess.Popen(argv, stdout=stack.enter_context(file.open("wb"))))
            stack.callback(watch.terminate)
            watches.append(watch)
        while not all(file.stat().st_size for file in files.values()):
            assert all(watch.poll() is None for watch in watches)
            time.sleep(0.02)
        yield Record(files)
        assert all(watch.poll() is None for watch in watches), "a watch has ended"
