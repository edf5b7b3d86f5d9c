"""Who leads when a process dies, a machine is cut off, or the API server is away (spec/operator.md 2)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mco.api import names
from mco.lab import paths
from mco.payload.source.metadata import OPERATOR
from tests.kubernetes import record
from tests.kubernetes.cluster import MACHINES, NAMESPACE, Cluster, line, moment, name
from tests.kubernetes.marks import REAL
from tests.kubernetes.record import recording
from tests.kubernetes.release import LEASE, OUTAGE
from tests.kubernetes.upgrade import Upgrade

pytestmark = REAL
DEPLOYMENT = (f"deployment/{OPERATOR}", NAMESPACE)

# The processes of a Pod's container.
_FIND = """
for pid in $(pgrep -f 'mco operator'); do
    if tr '\\0' '\\n' </proc/$pid/environ | grep -qx POD_NAME=$0; then echo $pid; fi
done
"""
_KILL = f"kill -9 $({_FIND})"


class Operators:
    """Two, on two machines."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def pods(self) -> dict[str, Any]:
        return {name(pod): pod for pod in self.cluster.pods(OPERATOR)}

    def machine(self, pod: str) -> str:
        return str(self.pods()[pod]["spec"]["nodeName"])

    def standby(self) -> str:
        (other,) = self.pods().keys() - {self.cluster.leading_pod()}
        return other

    def processes(self, pod: Any) -> set[str]:
        return set(self.cluster.inside(pod["spec"]["nodeName"], "sh", "-c", _FIND, name(pod)).split())

    def written(self, pod: Any, life: int) -> str:
        """What the Pod's container wrote in its n-th life, as its machine has it."""
        folder = f"/var/log/pods/{names.NAMESPACE}_{name(pod)}_{pod['metadata']['uid']}/{OPERATOR}"
        return self.cluster.inside(pod["spec"]["nodeName"], "cat", f"{folder}/{life}.log")


@pytest.fixture(scope="module")
def operators(upgraded: Upgrade) -> Iterator[Operators]:
    cluster = upgraded.cluster
    found = Operators(cluster)
    cluster.until(lambda: cluster.leading_pod() in found.pods())
    first = found.machine(cluster.leading_pod())
    cluster.kubectl("cordon", first)
    cluster.kubectl("scale", *DEPLOYMENT, "--replicas=2")
    cluster.kubectl("rollout", "status", *DEPLOYMENT, "--timeout=50s")
    cluster.kubectl("uncordon", first)
    yield found
    cluster.kubectl("scale", *DEPLOYMENT, "--replicas=1")


def test_the_kubelet_proves_that_the_leader_is_dead(operators: Operators) -> None:
    """Nobody waits for its lease: the standby hears of it, or the container's next process knows."""
    cluster, before = operators.cluster, operators.cluster.leader()
    dead, standby = cluster.leading_pod(), operators.standby()
    cluster.inside(operators.machine(dead), "sh", "-c", _KILL, dead)
    cluster.until(lambda: cluster.leader() not in ("", before))
    assert cluster.leading_pod() in (dead, standby)
    leads = line(cluster.said(cluster.leading_pod()), "leading")
    proofs = ("reports the end of its container", "an earlier process of this container")
    assert any(proof in leads["because"] for proof in proofs), leads


def test_a_leader_that_is_cut_off_keeps_its_lease_and_has_stopped_when_it_is_over(
    operators: Operators, tmp_path: Path
) -> None:
    """Its process lives on for a while, so nothing proves that it is gone; back on the network there is
    nothing left of it that could write."""
    cluster = operators.cluster
    leader, standby = cluster.leading_pod(), operators.standby()
    pod = operators.pods()[leader]
    processes = operators.processes(pod)
    with recording(cluster, tmp_path, record.LEASES) as seen:
        with cut_off(pod["spec"]["nodeName"]):
            cluster.until(lambda: cluster.leading_pod() == standby)
            cluster.until(lambda: not processes & operators.processes(pod))
        cluster.until(lambda: died(operators.pods()[leader], pod))
    assert "could not be renewed" in operators.written(pod, restarts(pod))

    held = [each.object["spec"] for each in seen.of(record.LEASES, names.OPERATOR_LEASE)]
    followed = next(spec for spec in held if spec["holderIdentity"].startswith(standby))
    last = held[held.index(followed) - 1]
    assert moment(followed["acquireTime"]) - moment(last["renewTime"]) >= LEASE
    assert followed["leaseTransitions"] == last["leaseTransitions"] + 1 == held[-1]["leaseTransitions"]
    leads = [each for each in cluster.said(standby) if each["message"] == "leading"]
    assert leads[-1]["because"] == "it was not renewed in time"


def test_nobody_minds_that_the_api_server_is_away_for_a_while(operators: Operators, tmp_path: Path) -> None:
    """Not a condition changes, and not even its time; no container is started anew."""
    cluster = operators.cluster
    cluster.until(cluster.settled)
    lives = {name(pod): restarts(pod) for pod in cluster.pods()}
    leader, watched = cluster.leader(), (*record.CONDITIONS, record.NODES)
    with recording(cluster, tmp_path, *watched, record.PODS) as seen:
        server, now = api_server(cluster), time.time()
        cluster.until(lambda: renewed(cluster, names.OPERATOR_LEASE, now))
        with frozen(server):
            time.sleep(OUTAGE)  # it is as long as it is
        back = time.time()
        for lease in (names.OPERATOR_LEASE, names.CONTROLLER_LEASE):
            cluster.until(partial(renewed, cluster, lease, back))
    assert cluster.leader() == leader
    for path in watched:
        standings: dict[str, set[str]] = {}
        for version in seen.of(path):
            standings.setdefault(name(version.object), set()).add(standing(version.object))
        assert standings
        assert {each: len(found) for each, found in standings.items()} == dict.fromkeys(standings, 1)
    assert {name(each.object): restarts(each.object) for each in seen.of(record.PODS)} == lives


def renewed(cluster: Cluster, lease: str, since: float) -> bool:
    return moment(cluster.lease(lease)["renewTime"]) > since


def standing(found: Any) -> str:
    """Its conditions, with the times of their last change."""
    said = found["status"]["conditions"]
    return str(sorted((each["type"], each["status"], each["lastTransitionTime"]) for each in said))


def restarts(pod: Any) -> int:
    (container,) = pod["status"]["containerStatuses"]
    return int(container["restartCount"])


def died(pod: Any, before: Any) -> bool:
    """Whether the kubelet has told that its container ended since."""
    (container,) = pod["status"]["containerStatuses"]
    return "running" not in container["state"] or restarts(pod) > restarts(before)


@contextmanager
def cut_off(machine: str) -> Iterator[None]:
    """The machine has its interface and its address, and nothing passes."""
    port = f"vb-{paths.instance_tag('default')}-{MACHINES.index(machine)}"
    _forward(port, "disabled")
    try:
        yield
    finally:
        _forward(port, "forwarding")


def _forward(port: str, state: str) -> None:
    subprocess.run(["bridge", "link", "set", "dev", port, "state", state], check=True)


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def api_server(cluster: Cluster) -> int:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            argv = file.read_bytes().decode().split("\0")
            if argv[0].endswith("/kube-apiserver") and f"--cert-dir={cluster.folder / 'api'}" in argv:
                found.append(int(file.parent.name))
    (pid,) = found
    return pid
