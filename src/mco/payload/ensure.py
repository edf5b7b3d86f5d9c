"""What is to change of an object that exists so that it agrees with its manifest (spec/operator.md 6.6).

The rule throughout: what the manifest says is made so, what only the cluster says stays, and no difference
means no write. Lists are the exception, because leaving out an item is how a manifest removes it: items that
have a name (containers, volumes, ports) are matched by it, those that the manifest lacks go, and an item
keeps what the server added to it by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]

_KEYS = ("name", "containerPort", "port", "mountPath", "ip", "key", "type")
"""By which field the items of a list are told apart, the first that they all have."""

_GONE_IF_LEFT_OUT = {
    "container": (
        *("args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "ports", "readinessProbe"),
        *("resources", "startupProbe", "volumeMounts"),
    ),
    "pod": ("affinity", "initContainers", "nodeSelector", "topologySpreadConstraints", "volumes"),
}
"""Fields that a manifest removes by not having them; the server sets none of them by itself."""

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Deployment": {
        "replicas": 1,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
    }
}
"""What is enforced although the manifest does not say it."""

_PROBES = frozenset(("livenessProbe", "readinessProbe", "startupProbe"))
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_POD_DEFAULTS = {"dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}

_WORKLOADS = ("Deployment", "DaemonSet", "Job", "StatefulSet")
_EXACT = {
    "ClusterRole": ("rules", "aggregationRule"),
    "Role": ("rules",),
    "ClusterRoleBinding": ("roleRef", "subjects"),
    "RoleBinding": ("roleRef", "subjects"),
}
_NOT_OURS = ("apiVersion", "kind", "metadata", "status")


def patch(manifest: Object, found: Object) -> dict[str, Any]:
    """The merge patch that makes `found` agree with `manifest`; empty when it does already."""
    changes: dict[str, Any] = {}
    metadata = _metadata(manifest["metadata"], found.get("metadata") or {})
    if metadata:
        changes["metadata"] = metadata
    wanted = _with_defaults(manifest)
    for field in wanted:
        if field in _NOT_OURS or _left_out(field, wanted, found):
            continue
        have, made = found.get(field), _made(str(manifest["kind"]), field, wanted[field], found.get(field))
        if made != have:
            changes[field] = difference(have, made)
    return changes


def difference(have: Any, made: Any) -> Any:
    """The merge patch from one value to the other."""
    if not isinstance(have, Mapping) or not isinstance(made, Mapping):
        return made
    changed = {key: difference(have.get(key), made[key]) for key in made if have.get(key) != made[key]}
    return changed | {key: None for key in have if key not in made}


def _metadata(wanted: Object, have: Object) -> dict[str, Any]:
    """Labels and annotations are added to, owners too."""
    changes = lacking_metadata(wanted, have)
    owners = list(have.get("ownerReferences") or ())
    new = [owner for owner in wanted.get("ownerReferences") or () if owner not in owners]
    return changes | ({"ownerReferences": owners + new} if new else {})


def lacking_metadata(wanted: Object, have: Object) -> dict[str, Any]:
    """The labels and annotations of `wanted` that are missing or have another value; both are metadata."""
    return {
        part: lacking
        for part in ("labels", "annotations")
        if (lacking := _lacking(wanted.get(part) or {}, have.get(part) or {}))
    }


def _lacking(wanted: Object, have: Object) -> dict[str, Any]:
    return {key: value for key, value in wanted.items() if have.get(key) != value}


def _with_defaults(manifest: Object) -> Object:
    defaults = _DEFAULTS.get(str(manifest["kind"]))
    if not defaults:
        return manifest
    return {**manifest, "spec": {**defaults, **(manifest.get("spec") or {})}}


def _made(kind: str, field: str, wanted: Any, have: Any) -> Any:
    """What the field shall be."""
    if field in _EXACT.get(kind, ()):
        same = len(wanted or ()) == len(have or ()) and merged(wanted, have) == have
        return have if same else wanted
    if field == "spec" and kind == "Deployment":
        return _deployment(wanted, have or {})
    if field == "spec" and kind in _WORKLOADS:
        return _workload(wanted, have or {})
    return merged(wanted, have)


def _deployment(wanted: Object, have: Object) -> Any:
    made = _workload(wanted, have)
    strategy = wanted["strategy"]
    # A strategy of another type keeps nothing of the old one: Recreate has no rollingUpdate.
    same_type = strategy.get("type") == (have.get("strategy") or {}).get("type")
    return {**made, "strategy": made["strategy"] if same_type else strategy}


def _workload(wanted: Object, have: Object) -> dict[str, Any]:
    made: dict[str, Any] = dict(merged({k: v for k, v in wanted.items() if k != "template"}, have))
    if "template" in wanted:
        made["template"] = _template(wanted["template"], have.get("template") or {})
    return made


def _template(wanted: Object, have: Object) -> dict[str, Any]:
    made = dict(merged({k: v for k, v in wanted.items() if k != "spec"}, have))
    made["spec"] = _pod(wanted.get("spec") or {}, have.get("spec") or {})
    return made


def _pod(wanted: Object, have: Object) -> dict[str, Any]:
    wanted = {**_POD_DEFAULTS, **wanted}
    lists = ("containers", "initContainers", "tolerations", "volumes")
    made = dict(merged({k: v for k, v in wanted.items() if k not in lists}, have))
    for part in ("containers", "initContainers"):
        if part in wanted:
            made[part] = _containers(wanted[part], have.get(part) or ())
    if "volumes" in wanted:
        made["volumes"] = _one_source_each(wanted["volumes"], have.get("volumes") or ())
    if "tolerations" in wanted:
        made["tolerations"] = _tolerations(wanted["tolerations"], have.get("tolerations") or ())
    return _without(made, wanted, _GONE_IF_LEFT_OUT["pod"])


def _containers(wanted: Sequence[Object], have: Sequence[Object]) -> list[dict[str, Any]]:
    found = {container["name"]: container for container in have}
    return [_container(container, found.get(container["name"], {})) for container in wanted]


def _container(wanted: Object, have: Object) -> dict[str, Any]:
    special = {"env", *_PROBES}
    made = dict(merged({k: v for k, v in wanted.items() if k not in special}, have))
    if "env" in wanted:
        made["env"] = _one_source_each(wanted["env"], have.get("env") or ())
    for probe in _PROBES & wanted.keys():
        made[probe] = _probe({**_PROBE_DEFAULTS, **wanted[probe]}, have.get(probe) or {})
    return _without(made, wanted, _GONE_IF_LEFT_OUT["container"])


def _probe(wanted: Object, have: Object) -> Any:
    """One that asks in another way keeps nothing of the old one."""
    return merged(wanted, have) if wanted.keys() == have.keys() else wanted


def _one_source_each(wanted: Sequence[Object], have: Sequence[Object]) -> list[Any]:
    """Variables and volumes: beside its name each has exactly one field that says where it comes from."""
    found = {item["name"]: item for item in have}
    return [
        merged(item, old) if (old := found.get(item["name"], {})).keys() == item.keys() else item
        for item in wanted
    ]


def _tolerations(wanted: Sequence[Object], have: Sequence[Object]) -> list[Object]:
    """Missing ones are appended, duplicates dropped, others stay."""
    made: list[Object] = []
    for toleration in (*have, *wanted):
        if toleration not in made:
            made.append(toleration)
    return made


def _without(made: dict[str, Any], wanted: Object, fields: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in made.items() if key in wanted or key not in fields or not value}


def merged(wanted: Any, have: Any) -> Any:
    """`have` with everything that `wanted` says."""
    if isinstance(wanted, Mapping) and isinstance(have, Mapping):
        said = (key for key in wanted if not _left_out(key, wanted, have))
        return {**have, **{key: merged(wanted[key], have.get(key)) for key in said}}
    if isinstance(wanted, list) and isinstance(have, list):
        return _list(wanted, have)
    return have if wanted == have else wanted


def _left_out(key: str, wanted: Object, have: Object) -> bool:
    """Something empty that the server does not keep: to want it again each time would never end."""
    return key not in have and wanted[key] in ({}, [], "", None)


def _list(wanted: list[Any], have: list[Any]) -> list[Any]:
    key = _key(wanted, have)
    if key is None:
        if len(wanted) != len(have):
            return wanted
        return [merged(new, old) for new, old in zip(wanted, have, strict=True)]
    found = {item[key]: item for item in have}
    made = {item[key]: merged(item, found.get(item[key], {})) for item in wanted}
    if made.keys() == found.keys():
        # The order that the server keeps, so that an order of its own is no difference.
        return [made[name] for name in found]
    return list(made.values())


def _key(wanted: list[Any], have: list[Any]) -> str | None:
    items = (*wanted, *have)
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    for key in _KEYS:
        if all(isinstance(item.get(key), str | int) for item in items):
            names = [[item[key] for item in part] for part in (wanted, have)]
            if all(len(set(part)) == len(part) for part in names):
                return key
    return None
