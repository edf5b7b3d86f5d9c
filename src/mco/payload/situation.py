"""What an installation finds in a cluster: which version was there before, what the payload may use, and
whether somebody else is at work already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from mco.api import names
from mco.api.policies import POLICIES
from mco.base.errors import Conflict, Unsupported
from mco.kube.wholes import NoSuchKind, Wholes
from mco.payload.graph import Mode
from mco.payload.manifest import Manifest
from mco.payload.source import cluster_operator, monitoring
from mco.payload.source.metadata import OPERATOR, PROGRAM, PROGRAM_LABEL, VERSION_LABEL
from mco.payload.source.operatorgrants import MACHINE_API, MACHINES

_OVERRIDE = {"group": "apps", "kind": "Deployment", "namespace": names.NAMESPACE, "name": OPERATOR}


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Objects as the cluster has them, None for what is not there."""

    deployment: Mapping[str, Any] | None = None
    operator: Mapping[str, Any] | None = None
    lease: Mapping[str, Any] | None = None
    release: Mapping[str, Any] | None = None


async def look(objects: Wholes, manifests: Iterable[Manifest]) -> Situation:
    """Raises Unsupported for a server that cannot run what the payload consists of."""
    if any(manifest.group == "apps" for manifest in manifests) and not await _runs_workloads(objects):
        raise Unsupported(
            "this API server runs no workloads",
            hint="it is an embedded one: `mco up` runs the components itself",
        )
    return Situation(
        deployment=await find(objects, "apps/v1", "Deployment", OPERATOR, names.NAMESPACE),
        operator=await find(objects, "config.openshift.io/v1", "ClusterOperator", cluster_operator.NAME),
        lease=await find(objects, "coordination.k8s.io/v1", "Lease", names.OPERATOR_LEASE, names.NAMESPACE),
        release=await find(objects, "config.openshift.io/v1", "ClusterVersion", "version"),
    )


async def find(
    objects: Wholes, api_version: str, kind: str, name: str, namespace: str = ""
) -> dict[str, Any] | None:
    """None too where the server does not know the kind."""
    try:
        return await objects.get(body_of(api_version, kind, name, namespace))
    except NoSuchKind:
        return None


def body_of(api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


async def capabilities(objects: Wholes) -> frozenset[str]:
    """ClusterOperator always, because the payload can bring it; a policy's parameter where it exists."""
    found = {cluster_operator.CAPABILITY_NAME}
    if await find(objects, "v1", "Namespace", MACHINES) is not None:
        found.add(MACHINE_API)
    for parameter in {policy.parameter for policy in POLICIES if policy.parameter is not None}:
        if await find(objects, parameter.api_version, parameter.kind, parameter.name) is not None:
            found.add(parameter.kind)
    if await _monitored(objects):
        found.add(monitoring.CAPABILITY_NAME)
    return frozenset(found)


async def _monitored(objects: Wholes) -> bool:
    """Whether OpenShift's monitoring is here."""
    try:
        await objects.resource(body_of(*monitoring.MONITORS, "", names.NAMESPACE))
    except NoSuchKind:
        return False
    return await find(objects, "v1", "Namespace", monitoring.NAMESPACE) is not None


def mode(found: Situation, manifests: Iterable[Manifest]) -> Mode:
    """Nothing was ever complete, this very version is, or another one is (spec/operator.md 6.2)."""
    wanted = next((_versions(m.body) for m in manifests if m.kind == "ClusterOperator"), {})
    reported = _versions(found.operator or {})
    if reported and reported == wanted:
        return Mode.RECONCILING
    if reported:
        return Mode.UPDATING
    known = _labels(found.deployment)
    same = known.get(VERSION_LABEL) == wanted.get("operator")
    return Mode.INITIALIZING if found.deployment is None or same else Mode.UPDATING


def obstacle(found: Situation, now: datetime) -> Conflict | None:
    """Somebody else who would undo what is installed, or work against it."""
    place = f"{names.NAMESPACE}/{OPERATOR}"
    if found.release is not None and not _released(found.release):
        patch = msgspec.json.encode({"spec": {"overrides": [_OVERRIDE | {"unmanaged": True}]}}).decode()
        return Conflict(
            f"the cluster version operator keeps its own Deployment {place} here, and would put it back",
            subject="ClusterVersion/version",
            hint=f"tell it not to: kubectl patch clusterversion version --type=merge -p '{patch}'",
        )
    if _runs(found.deployment) and _labels(found.deployment).get(PROGRAM_LABEL) != PROGRAM:
        return Conflict(
            "another machine config operator runs here, and two would work against each other",
            subject=f"Deployment/{place}",
            hint=f"stop it first: kubectl -n {names.NAMESPACE} scale deployment {OPERATOR} --replicas=0",
        )
    if holder := _foreign_holder(found.lease, now):
        return Conflict(
            f"{holder} leads here as another machine config operator",
            subject=f"Lease/{names.NAMESPACE}/{names.OPERATOR_LEASE}",
            hint="stop it first; a lease whose holder is dead expires by itself",
        )
    return None


async def _runs_workloads(objects: Wholes) -> bool:
    try:
        await objects.resource(body_of("apps/v1", "Deployment", OPERATOR, names.NAMESPACE))
    except NoSuchKind:
        return False
    return True


def _versions(operator: Mapping[str, Any]) -> dict[str, str]:
    versions = (operator.get("status") or {}).get("versions") or ()
    return {version["name"]: version.get("version", "") for version in versions}


def _labels(found: Mapping[str, Any] | None) -> Mapping[str, str]:
    return (found["metadata"].get("labels") or {}) if found else {}


def _runs(deployment: Mapping[str, Any] | None) -> bool:
    """One that was scaled down and still has a Pod runs, too."""
    if deployment is None:
        return False
    left = (deployment.get("status") or {}).get("replicas", 0)
    return bool(deployment["spec"].get("replicas", 1) or left)


def _released(cluster_version: Mapping[str, Any]) -> bool:
    overrides = (cluster_version.get("spec") or {}).get("overrides") or ()
    return any(
        override.get("unmanaged") is True and _OVERRIDE.items() <= override.items() for override in overrides
    )


def _foreign_holder(lease: Mapping[str, Any] | None, now: datetime) -> str:
    """Ours say in an annotation which process they are."""
    spec = (lease or {}).get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    ours = names.LEASE_HOLDER in ((lease or {}).get("metadata", {}).get("annotations") or {})
    renewed = spec.get("renewTime")
    if not holder or ours or not renewed:
        return ""
    ends = datetime.fromisoformat(renewed) + timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
    return holder if ends > now else ""
