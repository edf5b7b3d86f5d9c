"""Rendered configs while real nodes drain and reboot: none that is needed vanishes (spec/operator.md 0.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mco.api import names
from tests.kubernetes import record
from tests.kubernetes.cluster import MACHINES, NAMESPACE, WORKERS, Cluster, boot_id, condition, name
from tests.kubernetes.marks import REAL
from tests.kubernetes.record import Record, recording
from tests.kubernetes.upgrade import Upgrade

pytestmark = REAL
EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST = "70-kernel-argument"
ARRIVALS = ("71-first", "72-second", "73-third", "74-fourth")

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


class Fleet:
    """The workers' pool, and an application on its nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def pods(self) -> set[str]:
        """Of the application, those that are ready."""
        found = self._cluster.items("pods", "--selector=app=app")
        return {name(pod) for pod in found if condition(pod, "Ready") == "True"}

    def target(self) -> str:
        return str(self._cluster.get("mcp", names.WORKER)["spec"]["configuration"].get("name", ""))

    def has(self, *sources: str) -> bool:
        """Whether the nodes have a config that was made of these."""
        pool = self._cluster.get("mcp", names.WORKER)
        made_of = {each["name"] for each in pool["status"]["configuration"].get("source", ())}
        return made_of >= set(sources) and condition(pool, "Updated") == "True"

    def in_use(self) -> dict[str, str]:
        """Rendered configs, and by whom."""
        return dict(self._cluster.get("configmap", names.IN_USE_MAP, NAMESPACE).get("data") or {})

    def rendered(self) -> set[str]:
        found = {name(config) for config in self._cluster.items("mc")}
        return {config for config in found if config.startswith("rendered-")}

    def arrive(self, source: str) -> str:
        """The rendered config that it leads to."""
        before = self.target()
        self._cluster.kubectl("apply", "--filename=-", given=json.dumps(_config(source)))
        self._cluster.until(lambda: self.target() != before)
        return self.target()


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What happened. `targets` are the rendered configs that the pool was sent to, in order; `denied` is what
    was answered to those who deleted one that was in use, by config; `deleted` and `restored` are one config
    before it was deleted past the guard, and when it was back; `seconds` is how long that took."""

    record: Record
    targets: list[str]
    denied: dict[str, str]
    deleted: Any
    restored: Any
    seconds: float
    boots: dict[str, str]


@pytest.fixture(scope="module")
def story(upgraded: Upgrade, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A budget holds a drain up while four more MachineConfigs arrive and rendered configs are deleted."""
    cluster = upgraded.cluster
    fleet, before = Fleet(cluster), cluster.boot_ids()
    cluster.kubectl("apply", "--filename=-", given=_APP)
    cluster.until(lambda: len(fleet.pods()) == 2)
    pods = fleet.pods()
    folder = tmp_path_factory.mktemp("rollout")
    with recording(cluster, folder, *record.CONDITIONS, record.NODES, record.CONFIGS) as seen:
        cluster.kubectl("apply", f"--filename={EXAMPLES / 'rollout' / FIRST}.yaml")
        cluster.until(lambda: "budget app allows 0 disruptions" in cluster.kubectl("get", "mcn", "-o=json"))
        targets = [fleet.target(), *(fleet.arrive(source) for source in ARRIVALS)]
        cluster.until(lambda: targets[-1] in fleet.in_use())
        denied = {config: _refused(cluster, config) for config in fleet.in_use()}
        deleted, restored, seconds = _delete_past_the_guard(cluster, targets[-1])
        assert fleet.pods() == pods
        assert cluster.boot_ids() == before

        cluster.kubectl("patch", "pdb", "app", "--type=merge", '--patch={"spec":{"minAvailable":1}}')
        cluster.until(lambda: fleet.has(FIRST, *ARRIVALS))
        cluster.until(lambda: len(fleet.pods()) == 2)
        assert not fleet.pods() & pods
        cluster.until(lambda: fleet.rendered() == set(fleet.in_use()))
    yield Story(
        record=seen,
        targets=targets,
        denied=denied,
        deleted=deleted,
        restored=restored,
        seconds=seconds,
        boots=before,
    )
    cluster.kubectl("delete", "deployment/app", "pdb/app")


def _config(source: str) -> dict[str, Any]:
    file = {
        "path": f"/etc/arrived/{source}",
        "mode": 0o644,
        "overwrite": True,
        "contents": {"source": f"data:,{source}"},
    }
    return {
        "apiVersion": f"{names.GROUP}/v1",
        "kind": "MachineConfig",
        "metadata": {"name": source, "labels": {names.ROLE_LABEL: names.WORKER}},
        "spec": {"config": {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}},
    }


def _refused(cluster: Cluster, config: str) -> str:
    with pytest.raises(AssertionError, match="denied request") as refused:
        cluster.kubectl("delete", "mc", config)
    return str(refused.value)


def _delete_past_the_guard(cluster: Cluster, config: str) -> tuple[Any, Any, float]:
    cluster.kubectl("annotate", "mc", config, f"{names.ALLOW_DELETION}=")
    deleted = cluster.get("mc", config)
    cluster.kubectl("delete", "mc", config, "--wait=false")

    def is_back() -> bool:
        found = [each for each in cluster.items("mc") if name(each) == config]
        return any(each["metadata"]["uid"] != deleted["metadata"]["uid"] for each in found)

    seconds = cluster.until(is_back)
    return deleted, cluster.get("mc", config), seconds


def test_each_arrival_is_rendered(story: Story) -> None:
    assert len(set(story.targets)) == 1 + len(ARRIVALS)


def test_what_is_in_use_is_not_deleted(story: Story) -> None:
    """The guard says who needs it: the pool, the node that drains, and the one that waits."""
    assert {story.targets[0], story.targets[-1]} < set(story.denied)
    for config, answer in story.denied.items():
        assert f"MachineConfig {config} is in use by" in answer
    by_nodes = " ".join(answer for config, answer in story.denied.items() if config != story.targets[-1])
    assert all(worker in by_nodes for worker in WORKERS)
    assert "pool worker" in story.denied[story.targets[-1]]


def test_what_is_deleted_past_the_guard_is_restored(story: Story) -> None:
    assert story.restored["spec"] == story.deleted["spec"]
    assert names.ALLOW_DELETION not in story.restored["metadata"]["annotations"]


def test_what_nobody_needs_is_collected(story: Story) -> None:
    """In the end, too: two intermediate targets were never any node's."""
    gone = {name(each.object) for each in story.record.of(record.CONFIGS) if each.event == "DELETED"}
    assert set(story.targets[1:-1]) <= gone
    living = {name(each.object): each.event for each in story.record.of(record.CONFIGS)}
    assert living[story.targets[-1]] != "DELETED"


def test_every_node_ends_well(story: Story, cluster: Cluster) -> None:
    """With what the configs say, a kubelet that is ready, and at most one reboot more than it needs."""
    boots: dict[str, set[str]] = {machine: set() for machine in MACHINES}
    for version in story.record.of(record.NODES):
        boots[name(version.object)].add(boot_id(version.object))
        state = version.object["metadata"]["annotations"].get(names.STATE, "")
        assert state not in ("Degraded", "Unreconcilable")
    for node in cluster.items("nodes"):
        worker = name(node) in WORKERS
        assert node["metadata"]["annotations"][names.STATE] == "Done"
        assert condition(node, "Ready") == "True"
        assert not node["spec"].get("unschedulable")
        reboots = len(boots[name(node)]) - 1
        assert reboots in ((1, 2) if worker else (0,)), boots
        found = cluster.inside(name(node), "cat", "/proc/sys/kernel/random/boot_id", "/proc/cmdline")
        assert found.split()[0] == boot_id(node)
        assert ("mitigations=auto,nosmt" in found) == worker


def test_nothing_is_ever_degraded(story: Story) -> None:
    for wanted in ("Degraded", "NodeDegraded", "RenderDegraded"):
        assert not story.record.flips(wanted, "True")
