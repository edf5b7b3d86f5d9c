"""The components that the operator runs: applied as their manifests say, and waited for
(spec/operator.md 1.7, 1.15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mco.base.errors import Unavailable
from mco.kube.wholes import Wholes
from mco.payload import ensure
from mco.payload.manifest import Manifest
from mco.plan.installation.outcome import Waiting

PATIENCE = 600.0
_POLL = 1.0
_DURING = {"Deployment": "waitForDeploymentRollout", "DaemonSet": "waitForDaemonsetRollout"}


async def roll_out(wholes: Wholes, manifests: Sequence[Manifest]) -> Waiting | None:
    """Makes them so; the gate is the first that does not run yet as it shall."""
    gates = [rollout(await _applied(wholes, manifest.body)) for manifest in manifests]
    return next((gate for gate in gates if gate is not None), None)


async def _applied(wholes: Wholes, body: Mapping[str, Any]) -> dict[str, Any]:
    found = await wholes.get(body)
    if found is None:
        return await wholes.create(body)
    changes = ensure.patch(body, found)
    if not changes:
        return found
    changes.setdefault("metadata", {})["resourceVersion"] = found["metadata"]["resourceVersion"]
    return await wholes.patch(body, changes)


def rollout(found: Mapping[str, Any]) -> Waiting | None:
    """Whether a Deployment or DaemonSet is what it shall be, everywhere. Raises Unavailable for one that goes
    away: the next pass makes another."""
    status, kind = found.get("status") or {}, str(found["kind"])
    if found["metadata"].get("deletionTimestamp"):
        name = found["metadata"]["name"]
        raise Unavailable(f"deployment {name} is being deleted", subject=f"{kind}/{name}")
    seen = found["metadata"].get("generation", 0) <= status.get("observedGeneration", 0)
    if kind == "Deployment":
        wanted, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
        updated, unavailable = status.get("updatedReplicas", 0), status.get("unavailableReplicas", 0)
    else:
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        updated, unavailable = status.get("updatedNumberScheduled", 0), status.get("numberUnavailable", 0)
    if seen and updated == wanted and not unavailable:
        return None
    every = "replicas" if kind == "Deployment" else "desired"
    counts = f"{every}: {wanted}, updated: {updated}, ready: {ready}, unavailable: {unavailable}"
    text = f"{kind.lower()} {found['metadata']['name']} is not ready. status: ({counts})"
    return Waiting(message=text, during=_DURING[kind], patience=PATIENCE, look_again=_POLL)
