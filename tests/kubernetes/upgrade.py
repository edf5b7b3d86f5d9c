"""The report of a slow hand-over, played on real kubelets (spec/operator.md 0.2).

Version A is this one in the form that the report's had: its operator runs under the ServiceAccount `default`,
by permissions of its own. Version B is the next one, applied by its own program.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

import mco
from mco.api import names
from mco.operator.sources import OWN_MAP
from mco.payload.source.metadata import OPERATOR
from mco.plan.installation import controlleroptions
from tests.kubernetes import record
from tests.kubernetes.cluster import MACHINES, NAMESPACE, PATIENCE, Cluster, line, moment, name
from tests.kubernetes.record import Record, Version, recording
from tests.kubernetes.release import DURATIONS, Release, make_next, write_faulty, write_old

_COLLECTING = {"collect": True, "keepServed": 0, "keepYoung": 0, "keepNewest": 0, "settle": 0.1}
"""Everything goes that nobody needs, at once, and every change is rendered."""
_CLUSTER_OPERATOR = "machine-config"
_NEW_BINDING = ("clusterrolebinding", OPERATOR)


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """What happened. `old` and `new` are the operators' Pods, `said` is what the new one logged, `boots` are
    the nodes' boot ids, before and after. `cluster` runs the new version now."""

    cluster: Cluster
    release: Release
    record: Record
    old: Any
    new: Any
    said: list[dict[str, Any]]
    boots: tuple[dict[str, str], dict[str, str]]

    @property
    def after_ready(self) -> float:
        """Seconds from B being able to lead to B leading, by its own clock."""
        ready, leads = line(self.said, "waiting for the lease"), line(self.said, "leading")
        return moment(leads["time"]) - moment(ready["time"])

    def leases(self, pod: str) -> list[Version]:
        """The versions of the operator's Lease while a Pod held it, or nobody."""
        found = self.record.of(record.LEASES, names.OPERATOR_LEASE)
        return [each for each in found if holder(each.object) == pod]


def holder(lease: Any) -> str:
    """The holder's Pod."""
    return str(lease["spec"].get("holderIdentity") or "").rpartition("_")[0]


def reported(operator: Any) -> str:
    """The version that a ClusterOperator says it is at."""
    versions = (operator.get("status") or {}).get("versions") or ()
    return next((str(each["version"]) for each in versions if each["name"] == "operator"), "")


def upgrade(cluster: Cluster, folder: Path) -> Upgrade:
    release = make_next(folder)
    _bring_image(cluster, release)
    options = {controlleroptions.KEY: json.dumps(_COLLECTING)}
    said = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": OWN_MAP}, "data": options}
    cluster.kubectl("create", NAMESPACE, "-f", "-", given=json.dumps(said))
    _begin_with_old(cluster, write_old(folder / "old", Path(mco.__file__).parent, *DURATIONS))
    return _hand_over(cluster, folder, release)


def upgrade_with_faults(before: Upgrade, folder: Path) -> Upgrade:
    """Once more, as the report had it. Both sides are the new version: what else changes with a version takes
    its time, and belongs to another story."""
    cluster, package = before.cluster, before.release.package
    _begin_with_old(cluster, write_old(folder / "old", package))
    faulty = write_faulty(folder / "faulty", package)
    return _hand_over(cluster, folder, before.release, f"--manifests={faulty}", "--mode=updating")


def _hand_over(cluster: Cluster, folder: Path, release: Release, *options: str) -> Upgrade:
    boots = cluster.boot_ids()
    (old,) = cluster.pods(OPERATOR)
    paths = (*record.CONDITIONS, record.PODS, record.LEASES, record.BINDINGS)
    with recording(cluster, folder, *paths) as seen:
        _install(cluster, *options, environment=release.environment)
        cluster.until(lambda: cluster.leading_pod() not in ("", name(old)))
        cluster.until(cluster.settled)
        new = cluster.get("pod", cluster.leading_pod(), NAMESPACE)
        said = cluster.said(name(new))
    return Upgrade(
        cluster=cluster,
        release=release,
        record=seen,
        old=old,
        new=new,
        said=said,
        boots=(boots, cluster.boot_ids()),
    )


def _bring_image(cluster: Cluster, release: Release) -> None:
    """To the nodes, which import what they find in that folder when they start."""
    shutil.move(release.image, cluster.folder / "images")
    for machine in MACHINES:
        cluster.inside(machine, "systemctl", "restart", "lab-images")


def _begin_with_old(cluster: Cluster, payload: Path) -> None:
    """Its operator leads, and reports that nothing changes any more."""
    at = _reports(cluster)
    _install(cluster, f"--manifests={payload}")
    cluster.kubectl("delete", "--ignore-not-found", *_NEW_BINDING)
    cluster.until(lambda: [cluster.leading_pod()] == [name(pod) for pod in cluster.pods(OPERATOR)])
    cluster.until(lambda: _reports(cluster) == at and cluster.settled())


def _reports(cluster: Cluster) -> str:
    return reported(cluster.get("clusteroperator", _CLUSTER_OPERATOR))


def _install(cluster: Cluster, *options: str, environment: dict[str, str] | None = None) -> None:
    argv = ("install", f"--kubeconfig={cluster.kubeconfig}", "--wait", *options)
    install = cluster.mco(*argv) if environment is None else cluster.mco(*argv, environment=environment)
    assert install.ended(PATIENCE) == 0, install.output
