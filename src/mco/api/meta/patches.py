"""Merge patches: RFC 7386, and the strategic kind that merges lists of built-in kinds by key.

Neither changes what it is given: unchanged parts of the original are shared with the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

DIRECTIVE = "$patch"
DELETE_FROM_LIST = "$deleteFromPrimitiveList/"
ELEMENT_ORDER = "$setElementOrder/"
RETAIN_KEYS = "$retainKeys"

MERGE_KEYS: Mapping[str, str] = {
    "metadata.ownerReferences": "uid",
    "secrets": "name",
    "spec.containers": "name",
    "spec.initContainers": "name",
    "spec.ephemeralContainers": "name",
    "spec.containers.env": "name",
    "spec.initContainers.env": "name",
    "spec.containers.ports": "containerPort",
    "spec.initContainers.ports": "containerPort",
    "spec.containers.volumeMounts": "mountPath",
    "spec.initContainers.volumeMounts": "mountPath",
    "spec.containers.volumeDevices": "devicePath",
    "spec.hostAliases": "ip",
    "spec.imagePullSecrets": "name",
    "spec.resourceClaims": "name",
    "spec.topologySpreadConstraints": "topologyKey",
    "spec.volumes": "name",
    "status.addresses": "type",
    "status.conditions": "type",
    "status.hostIPs": "ip",
    "status.podIPs": "ip",
}
"""The key by which a list of objects is merged. Others are replaced whole, a Node's taints among them."""

REPLACED: Mapping[str, frozenset[str]] = {
    "CertificateSigningRequest": frozenset({"status.conditions"}),
    "CustomResourceDefinition": frozenset({"status.conditions"}),
}
"""Kinds that declare no merge key where others do."""

MERGED_SETS = frozenset({"metadata.finalizers", "spec.podCIDRs"})
"""Lists of plain values to which a patch adds."""


def merge(original: Any, patch: Any) -> Any:
    """`original` after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(original) if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(original: dict[str, Any], patch: dict[str, Any]) -> Any:
    """`original`, an object of a built-in kind, after a strategic merge patch.

    Raises ValueError for a patch that cannot be applied."""
    replaced = REPLACED.get(original.get("kind", ""), frozenset())
    keys = {path: key for path, key in MERGE_KEYS.items() if path not in replaced}
    return _object(original, patch, "", keys)


def _object(original: Any, patch: dict[str, Any], path: str, keys: Mapping[str, str]) -> Any:
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise ValueError(f"Unknown patch type found: {directive}")
    result = dict(original) if isinstance(original, dict) else {}
    if isinstance(retained := patch.get(RETAIN_KEYS), list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key in (DIRECTIVE, RETAIN_KEYS) or key.startswith((DELETE_FROM_LIST, ELEMENT_ORDER)):
            continue
        below = f"{path}.{key}" if path else key
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _object(result.get(key), value, below, keys)
        elif isinstance(value, list):
            result[key] = _list(result.get(key), value, below, keys)
        else:
            result[key] = value
    for key, value in patch.items():
        if key.startswith(DELETE_FROM_LIST):
            name = key.removeprefix(DELETE_FROM_LIST)
            result[name] = [item for item in result.get(name) or () if item not in value]
    for key, value in patch.items():
        if key.startswith(ELEMENT_ORDER):
            name = key.removeprefix(ELEMENT_ORDER)
            below = f"{path}.{name}" if path else name
            if name in result:
                result[name] = _in_order(result[name], value, keys.get(below))
    return result


def _list(original: Any, patch: list[Any], path: str, keys: Mapping[str, str]) -> list[Any]:
    old = list(original) if isinstance(original, list) else []
    if path in MERGED_SETS:
        return _interleaved(old, list(dict.fromkeys(patch)), lambda item: item)
    key = keys.get(path)
    if any(isinstance(item, dict) and item.get(DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if not (isinstance(item, dict) and item.get(DIRECTIVE) == "replace")]
    if key is None:
        return patch
    before = list(old)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise ValueError(f"map: {item} does not contain declared merge key: {key}")
        index = next((i for i, entry in enumerate(old) if entry.get(key) == item[key]), None)
        if item.get(DIRECTIVE) == "delete":
            old = [entry for entry in old if entry.get(key) != item[key]]
        elif index is None:
            old.append(_object({}, item, path, keys))
        else:
            old[index] = _object(old[index], item, path, keys)
    merged = {entry.get(key): entry for entry in old}
    named = [merged[item[key]] for item in patch if item[key] in merged]
    return _interleaved([merged.get(e.get(key), e) for e in before if e.get(key) in merged], named, _by(key))


def _by(key: str) -> Callable[[Any], Any]:
    return lambda item: item.get(key)


def _interleaved(old: list[Any], named: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """The items of a merged list: those that the patch names in its order, the others in theirs; what is new
    goes before what was there."""
    place = {identity(item): index for index, item in enumerate(old)}
    names = {identity(item) for item in named}
    others = [item for item in old if identity(item) not in names]
    result: list[Any] = []
    for item in named:
        here = place.get(identity(item), -1)
        while others and place[identity(others[0])] < here:
            result.append(others.pop(0))
        result.append(item)
    return result + others


def _in_order(items: list[Any], order: list[Any], key: str | None) -> list[Any]:
    """Items in the order that the patch states; those that it does not name keep their place behind the one
    they followed."""

    def identity(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    named = sorted((i for i in items if identity(i) in wanted), key=lambda item: wanted.index(identity(item)))
    result: list[Any] = []
    remaining = iter(named)
    for item in items:
        result.append(next(remaining) if identity(item) in wanted else item)
    return result
