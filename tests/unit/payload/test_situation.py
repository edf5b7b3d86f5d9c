"""What an installation finds decides the mode, and whether somebody else is in the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mco.api import names
from mco.payload.graph import Mode
from mco.payload.manifest import Manifest
from mco.payload.situation import Situation, mode, obstacle
from mco.payload.source import cluster_operator
from mco.payload.source.metadata import OPERATOR
from mco.payload.source.workloads import operator

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GATE = Manifest("0000_80_machine-config_06_clusteroperator.yaml", 1, cluster_operator.operator())
OURS = operator()
THEIRS = OURS | {"metadata": {"name": OPERATOR, "namespace": names.NAMESPACE}}
OLDER = OURS | {
    "metadata": OURS["metadata"]
    | {"labels": OURS["metadata"]["labels"] | {"app.kubernetes.io/version": "0.0.1"}}
}


def reported(**versions: str) -> dict[str, Any]:
    listed = [{"name": name.replace("_", "-"), "version": version} for name, version in versions.items()]
    return {"status": {"versions": listed}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Situation(), Mode.INITIALIZING),
        (Situation(deployment=OURS), Mode.INITIALIZING),
        (Situation(deployment=OURS, operator=reported()), Mode.INITIALIZING),
        (Situation(deployment=OURS, operator=GATE.body), Mode.RECONCILING),
        (Situation(operator=GATE.body), Mode.RECONCILING),
        (Situation(deployment=OLDER), Mode.UPDATING),
        (Situation(deployment=THEIRS), Mode.UPDATING),
        (Situation(deployment=OURS, operator=reported(operator="0.0.1")), Mode.UPDATING),
        (Situation(operator=reported(operator="4.19.0", operator_image="x")), Mode.UPDATING),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_mode_is_what_the_cluster_is_in(found: Situation, expected: Mode) -> None:
    assert mode(found, [GATE]) is expected


def lease(holder: str, *, seconds_ago: float = 10.0, ours: bool = False) -> dict[str, Any]:
    renewed = (NOW - timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "Z")
    annotations = {names.LEASE_HOLDER: "{}"} if ours else {}
    return {
        "metadata": {"annotations": annotations},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 137, "renewTime": renewed},
    }


def cluster_version(**override: Any) -> dict[str, Any]:
    ours = {"group": "apps", "kind": "Deployment", "namespace": names.NAMESPACE, "name": OPERATOR}
    return {"spec": {"overrides": [ours | override]}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Situation(deployment=THEIRS), "another machine config operator runs here"),
        (
            Situation(deployment=THEIRS | {"spec": {"replicas": 0}, "status": {"replicas": 1}}),
            "another machine config operator runs here",
        ),
        (Situation(lease=lease("host_1")), "host_1 leads here as another machine config operator"),
        (Situation(deployment=OURS, lease=lease("host_1")), "host_1 leads here"),
        (Situation(release={"spec": {}}), "the cluster version operator keeps its own Deployment"),
        (Situation(release=cluster_version(unmanaged=False)), "the cluster version operator keeps"),
        (Situation(release=cluster_version(unmanaged=True, name="other")), "the cluster version operator"),
    ],
)
def test_somebody_else_is_named_with_what_to_do(found: Situation, said: str) -> None:
    conflict = obstacle(found, NOW)
    assert conflict is not None
    assert (
        conflict.message.startswith(said)
        and conflict.hint
        and names.NAMESPACE in str((conflict.subject, conflict.hint))
    )


@pytest.mark.parametrize(
    "found",
    [
        Situation(),
        Situation(deployment=OURS, lease=lease("host_1", ours=True)),
        Situation(deployment=THEIRS | {"spec": {"replicas": 0}}),
        Situation(lease=lease("host_1", seconds_ago=138.0)),
        Situation(lease=lease("")),
        Situation(lease={"metadata": {}, "spec": {"holderIdentity": "host_1"}}),
        Situation(release=cluster_version(unmanaged=True)),
    ],
    ids=["nothing", "ours", "stopped", "expired", "released", "never renewed", "told not to"],
)
def test_nobody_is_in_the_way(found: Situation) -> None:
    assert obstacle(found, NOW) is None
