"""spec/operator.md 1.7: when a workload is what it shall be."""

from __future__ import annotations

from typing import Any

import pytest

from mco.base.errors import Unavailable
from mco.operator.components import rollout


def deployment(generation: int = 2, **status: int) -> dict[str, Any]:
    said = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1} | status
    metadata = {"name": "machine-config-controller", "generation": generation}
    return {"kind": "Deployment", "metadata": metadata, "status": said}


def daemon_set(generation: int = 2, **status: int) -> dict[str, Any]:
    said = {
        "observedGeneration": 2,
        "desiredNumberScheduled": 6,
        "updatedNumberScheduled": 6,
        "numberReady": 6,
    }
    metadata = {"name": "machine-config-daemon", "generation": generation}
    return {"kind": "DaemonSet", "metadata": metadata, "status": said | status}


@pytest.mark.parametrize(
    "found", [deployment(), daemon_set(), daemon_set(desiredNumberScheduled=0, updatedNumberScheduled=0)]
)
def test_done(found: dict[str, Any]) -> None:
    assert rollout(found) is None


@pytest.mark.parametrize(
    "found",
    [
        deployment(generation=3),
        deployment(updatedReplicas=0),
        deployment(unavailableReplicas=1),
        daemon_set(generation=3),
        daemon_set(updatedNumberScheduled=5),
        daemon_set(numberUnavailable=1),
        {"kind": "DaemonSet", "metadata": {"name": "new", "generation": 1}},
    ],
)
def test_not_yet(found: dict[str, Any]) -> None:
    gate = rollout(found)
    assert gate is not None
    assert (gate.patience, gate.look_again) == (600.0, 1.0)


def test_the_gate_says_how_far_it_is() -> None:
    gate = rollout(daemon_set(numberReady=5, numberUnavailable=1))
    assert gate is not None
    assert gate.error == (
        "error during waitForDaemonsetRollout: [context deadline exceeded, daemonset machine-config-daemon "
        "is not ready. status: (desired: 6, updated: 6, ready: 5, unavailable: 1)]"
    )


def test_counts_of_a_deployment() -> None:
    gate = rollout(deployment(unavailableReplicas=1))
    assert gate is not None
    text = "deployment machine-config-controller is not ready. status: (replicas: 1, updated: 1, ready: 1, "
    assert gate.message == f"{text}unavailable: 1)"


@pytest.mark.parametrize("found", [deployment(), daemon_set()])
def test_one_that_goes_away(found: dict[str, Any]) -> None:
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(Unavailable, match=f"deployment {found['metadata']['name']} is being deleted"):
        rollout(found)
