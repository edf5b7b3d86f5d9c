"""Columns of the built-in kinds, as people know them from `kubectl get`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mco.api.names import NODE_ROLE_PREFIX
from mco.apiserver.tables.columns import AGE, NAME, Column, age, human_duration, path_column

Obj = dict[str, Any]


def _conditions(obj: Obj) -> dict[str, str]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return {c.get("type", ""): c.get("status", "") for c in conditions}


def _node_status(obj: Obj, _now: datetime) -> str:
    ready = _conditions(obj).get("Ready")
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(obj: Obj, _now: datetime) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(NODE_ROLE_PREFIX) for key in labels if key.startswith(NODE_ROLE_PREFIX)}
    if "kubernetes.io/role" in labels:
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(filter(None, roles))) or "<none>"


def _node_address(kind: str) -> Any:
    def cell(obj: Obj, _now: datetime) -> str:
        addresses = (obj.get("status") or {}).get("addresses") or ()
        return next((a["address"] for a in addresses if a.get("type") == kind), "<none>")

    return cell


def _or(path: str, missing: str) -> Any:
    column = path_column("", path)
    return lambda obj, now: column.cell(obj, now) or missing


def _pod_ready(obj: Obj, _now: datetime) -> str:
    containers = (obj.get("spec") or {}).get("containers") or ()
    statuses = (obj.get("status") or {}).get("containerStatuses") or ()
    return f"{sum(bool(s.get('ready')) for s in statuses)}/{len(containers)}"


def _pod_status(obj: Obj, _now: datetime) -> str:
    status = obj.get("status") or {}
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for container in status.get("containerStatuses") or ():
        for phase in ("waiting", "terminated"):
            if reason := (container.get("state") or {}).get(phase, {}).get("reason"):
                return str(reason)
    return str(status.get("reason") or status.get("phase") or "Unknown")


def _pod_restarts(obj: Obj, _now: datetime) -> str:
    statuses = (obj.get("status") or {}).get("containerStatuses") or ()
    return str(sum(int(s.get("restartCount", 0)) for s in statuses))


def _count(*fields: str) -> Any:
    return lambda obj, now: sum(len(obj.get(field) or ()) for field in fields)


def _last_seen(obj: Obj, now: datetime) -> str:
    series = obj.get("series") or {}
    times = (series.get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("eventTime"))
    moment = next(filter(None, times), obj["metadata"].get("creationTimestamp"))
    return age(moment, now)


def _event_object(obj: Obj, _now: datetime) -> str:
    about = obj.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_source(obj: Obj, _now: datetime) -> str:
    source = obj.get("source") or {}
    return ", ".join(filter(None, (source.get("component"), source.get("host"))))


def _request_condition(obj: Obj, _now: datetime) -> str:
    status = obj.get("status") or {}
    held = _conditions(obj)
    words = [word for word in ("Approved", "Denied", "Failed") if held.get(word) == "True"] or ["Pending"]
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


def _request_duration(obj: Obj, _now: datetime) -> str:
    seconds = (obj.get("spec") or {}).get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(int(seconds))


NODES = (
    NAME,
    Column(name="Status", cell=_node_status),
    Column(name="Roles", cell=_node_roles),
    AGE,
    path_column("Version", ".status.nodeInfo.kubeletVersion"),
    Column(name="Internal-IP", cell=_node_address("InternalIP"), priority=1),
    Column(name="External-IP", cell=_node_address("ExternalIP"), priority=1),
    Column(name="OS-Image", cell=_or(".status.nodeInfo.osImage", "<unknown>"), priority=1),
    Column(name="Kernel-Version", cell=_or(".status.nodeInfo.kernelVersion", "<unknown>"), priority=1),
    Column(
        name="Container-Runtime",
        cell=_or(".status.nodeInfo.containerRuntimeVersion", "<unknown>"),
        priority=1,
    ),
)
PODS = (
    NAME,
    Column(name="Ready", cell=_pod_ready),
    Column(name="Status", cell=_pod_status),
    Column(name="Restarts", cell=_pod_restarts),
    AGE,
    Column(name="IP", cell=_or(".status.podIP", "<none>"), priority=1),
    Column(name="Node", cell=_or(".spec.nodeName", "<none>"), priority=1),
)
NAMESPACES = (NAME, path_column("Status", ".status.phase"), AGE)
CONFIG_MAPS = (NAME, Column(name="Data", type="integer", cell=_count("data", "binaryData")), AGE)
SECRETS = (NAME, path_column("Type", ".type"), Column(name="Data", type="integer", cell=_count("data")), AGE)
SERVICE_ACCOUNTS = (NAME, Column(name="Secrets", type="integer", cell=_count("secrets")), AGE)
LEASES = (NAME, path_column("Holder", ".spec.holderIdentity"), AGE)
EVENTS = (
    Column(name="Last Seen", cell=_last_seen),
    path_column("Type", ".type"),
    path_column("Reason", ".reason"),
    Column(name="Object", cell=_event_object),
    path_column("Subobject", ".involvedObject.fieldPath", priority=1),
    Column(name="Source", cell=_event_source, priority=1),
    path_column("Message", ".message"),
    path_column("First Seen", ".firstTimestamp", kind="date", priority=1),
    path_column("Count", ".count", kind="integer", priority=1),
    path_column("Name", ".metadata.name", priority=1),
)
BUDGETS = (
    NAME,
    Column(name="Min Available", cell=_or(".spec.minAvailable", "N/A")),
    Column(name="Max Unavailable", cell=_or(".spec.maxUnavailable", "N/A")),
    path_column("Allowed Disruptions", ".status.disruptionsAllowed", kind="integer"),
    AGE,
)
REQUESTS = (
    NAME,
    AGE,
    path_column("SignerName", ".spec.signerName"),
    path_column("Requestor", ".spec.username"),
    Column(name="RequestedDuration", cell=_request_duration),
    Column(name="Condition", cell=_request_condition),
)
DEFINITIONS = (
    NAME,
    path_column("Created At", ".metadata.creationTimestamp"),
)
