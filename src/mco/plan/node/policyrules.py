"""What a MachineConfiguration may say about disruption, checked without a server (spec/node.md 1.13, 6.1).

A field or a type that is misspelt would otherwise be no policy at all, and the answer a reboot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from mco.api.machineconfiguration import MachineConfiguration
from mco.base.errors import InvalidInput
from mco.plan.node import policies as policy
from mco.plan.node.reconcile import OVERRIDABLE

KIND: Final = "MachineConfiguration"

_USER_TYPES: Final = (
    *(policy.REBOOT, policy.DRAIN, policy.RELOAD, policy.RESTART, policy.DAEMON_RELOAD, policy.NONE),
)
_STATUS_TYPES: Final = (*_USER_TYPES, policy.SPECIAL)
_ALONE: Final = (policy.REBOOT, policy.NONE)
_WITH_SERVICE: Final = {policy.RELOAD: "reload", policy.RESTART: "restart"}

_SUFFIXES: Final = (
    *("service", "socket", "device", "mount", "automount", "swap"),
    *("target", "path", "timer", "snapshot", "slice", "scope"),
)
_SERVICE: Final = re.compile(r"[a-zA-Z0-9:._\\-]+\..")
_SUFFIX: Final = re.compile(rf"\.(?:{'|'.join(_SUFFIXES)})\Z")
_SERVICE_LENGTH: Final = 255

_USER_ENTRIES, _STATUS_ENTRIES, _ACTIONS = 50, 100, 10

Found = Iterator[tuple[str, str, str]]
"""Path, what is wrong, what to do."""


def configuration(value: Mapping[str, Any]) -> MachineConfiguration:
    """The object, once `problems` has nothing to say. Raises InvalidInput for a field of a wrong type. Null
    stands for an absent field, as for every reader of the original's objects."""
    try:
        return msgspec.convert(_without_nulls(value), MachineConfiguration)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        raise _problem(value, re.sub(r"\[([0-9]+)\]", r".\1", path.removesuffix("`")), message) from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def problems(value: Mapping[str, Any]) -> tuple[InvalidInput, ...]:
    """Everything that the API server would refuse in an object's policies and overrides."""
    return tuple(_problem(value, *found) for found in _problems(value))


def _problem(value: Mapping[str, Any], path: str, message: str, hint: str = "") -> InvalidInput:
    metadata = value.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return InvalidInput(message, subject=f"{KIND}/{name}", path=path, hint=hint)


def _problems(value: Mapping[str, Any]) -> Found:
    spec = _object(value.get("spec"))
    yield from _policies(spec.get("nodeDisruptionPolicy"), "$.spec.nodeDisruptionPolicy", _USER_TYPES)
    yield from _overrides(spec.get("irreconcilableValidationOverrides"))
    status = _object(_object(value.get("status")).get("nodeDisruptionPolicyStatus"))
    path = "$.status.nodeDisruptionPolicyStatus.clusterPolicies"
    yield from _policies(status.get("clusterPolicies"), path, _STATUS_TYPES)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _policies(value: Any, path: str, types: Sequence[str]) -> Found:
    if value is None:
        return
    yield from _fields(value, path, ("files", "units", "sshkey"))
    for key, named in (("files", "path"), ("units", "name")):
        if (entries := _object(value).get(key)) is not None:
            yield from _entries(entries, f"{path}.{key}", named, types)
    if (sshkey := _object(value).get("sshkey")) is not None:
        yield from _fields(sshkey, f"{path}.sshkey", ("actions",))
        yield from _actions({"actions": None} | dict(_object(sshkey)), f"{path}.sshkey.actions", types)


def _entries(entries: Any, path: str, named: str, types: Sequence[str]) -> Found:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        yield path, "expected a list", "begin each entry with a dash"
        return
    most = _USER_ENTRIES if types == _USER_TYPES else _STATUS_ENTRIES
    if len(entries) > most:
        yield path, f"{len(entries)} entries are more than {most}", "one policy can name a folder"
    seen: dict[str, str] = {}
    for index, entry in enumerate(entries):
        place = f"{path}.{index}"
        yield from _fields(entry, place, (named, "actions"))
        name = _object(entry).get(named)
        if not isinstance(name, str):
            yield f"{place}.{named}", f"{named} is required", "say what the policy is for"
        elif seen.setdefault(name, place) != place:
            yield f"{place}.{named}", f"{name} has a policy already, at {seen[name]}", "join the two"
        elif named == "name":
            yield from _service(name, f"{place}.{named}")
        yield from _actions(entry, f"{place}.actions", types)


def _actions(entry: Any, path: str, types: Sequence[str]) -> Found:
    actions = _object(entry).get("actions", ())
    if "actions" not in _object(entry):
        yield path, "actions is required", "an empty list means that nothing is done"
    if actions is None:
        return
    if not isinstance(actions, Sequence) or isinstance(actions, str):
        yield path, "expected a list", "begin each action with a dash"
        return
    if len(actions) > _ACTIONS:
        yield path, f"{len(actions)} actions are more than {_ACTIONS}", "leave some out"
    kinds = [_object(action).get("type") for action in actions]
    for kind in _ALONE:
        if kind in kinds and len(kinds) > 1:
            text = f"{kind} action can only be specified standalone, as it will override any other actions"
            yield path, text, f"leave out {kind}, or all others"
    for index, action in enumerate(actions):
        yield from _action(action, f"{path}.{index}", types)


def _action(action: Any, path: str, types: Sequence[str]) -> Found:
    yield from _fields(action, path, ("type", *_WITH_SERVICE.values()))
    kind = _object(action).get("type")
    if kind not in types:
        hint = f"use one of {', '.join(types)}"
        yield f"{path}.type", f"unknown type {kind}" if kind is not None else "type is required", hint
    for owner, field in _WITH_SERVICE.items():
        reference = _object(action).get(field)
        if owner != kind and reference is not None:
            yield (
                f"{path}.{field}",
                f"{field} goes only with type {owner}",
                f"remove it, or make the type {owner}",
            )
        elif owner == kind:
            name = _object(reference).get("serviceName")
            if isinstance(name, str):
                yield from _service(name, f"{path}.{field}.serviceName")
            else:
                hint = f"write {field}: {{serviceName: crio.service}}"
                yield f"{path}.{field}.serviceName", f"type {owner} needs the name of a service", hint


def _service(name: str, path: str) -> Found:
    if not _SERVICE.match(name) or not _SUFFIX.search(name) or len(name) > _SERVICE_LENGTH:
        yield path, f"{name} is not the name of a unit", f"end it with one of .{', .'.join(_SUFFIXES)}"


def _overrides(value: Any) -> Found:
    path = "$.spec.irreconcilableValidationOverrides"
    if value is None:
        return
    yield from _fields(value, path, ("storage",))
    sections = _object(value).get("storage")
    for index, section in enumerate(sections if isinstance(sections, list) else ()):
        if section not in OVERRIDABLE:
            yield (
                f"{path}.storage.{index}",
                f"unknown section {section}",
                f"use one of {', '.join(OVERRIDABLE)}",
            )


def _fields(value: Any, path: str, known: Collection[str]) -> Found:
    if not isinstance(value, Mapping):
        yield path, "expected an object", f"its fields are {', '.join(known)}"
        return
    for field in value:
        if field not in known:
            yield f"{path}.{field}", f'unknown field "{field}"', f"the fields are {', '.join(known)}"
