"""From what somebody sent to the object that is stored: pure steps, one to make it, one to check it."""

from __future__ import annotations

import uuid
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.registry.served import Served
from mco.apiserver.strategies.strategy import Writer
from mco.apiserver.writes import metadata as meta

Obj = dict[str, Any]

METADATA_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
_DEEPEST = 200
"""What is stored must be readable by everybody, however deep in calls they are."""
_SERVERS_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def identify(served: Served, body: Any, namespace: str, name: str = "") -> Obj:
    """`body` as an object of the resource, with its place filled in.

    Raises StatusError 400 for an object of another kind or place."""
    if not isinstance(body, dict):
        raise errors.bad_request("the body of the request is not an object")
    if _is_deeper(body, _DEEPEST):
        raise errors.bad_request(f"the object has more than {_DEEPEST} levels of lists and maps")
    obj = dict(body)
    _expect(obj, "kind", served.kind)
    _expect(obj, "apiVersion", served.api_version)
    if isinstance(obj.setdefault("metadata", {}), dict):
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if value is not None}
    if problem := meta.shape_error(obj):
        raise errors.bad_request(f"{served.kind} cannot be handled: {problem}")
    if causes := served.strategy.misshapen(obj):
        raise errors.bad_request(
            f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {causes[0]}'
        )
    metadata = obj["metadata"]
    if served.namespaced:
        if metadata.setdefault("namespace", namespace) != namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
    else:
        metadata.pop("namespace", None)
    if name and metadata.setdefault("name", name) != name:
        message = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise errors.bad_request(message)
    return obj


def _is_deeper(value: Any, levels: int) -> bool:
    below = value.values() if isinstance(value, dict) else value
    inner = [each for each in below if isinstance(each, dict | list)]
    return bool(inner) and (levels == 1 or any(_is_deeper(each, levels - 1) for each in inner))


def new_object(served: Served, obj: Obj, writer: Writer) -> Obj:
    """The object that a creation wants to store."""
    metadata = _known_metadata(obj)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = meta.generated(metadata["generateName"])
    for field in (*_SERVERS_OWN, "resourceVersion"):
        metadata.pop(field, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = meta.timestamp(writer.now)
    if served.strategy.counts:
        metadata["generation"] = 1
    if served.strategy.has_status and not served.strategy.status_at_creation:
        obj.pop("status", None)
    served.strategy.prepare(obj, None, writer)
    return obj


def updated_object(served: Served, sent: Obj, old: Obj, subresource: str, writer: Writer) -> Obj:
    """The object that an update of `old` to `sent`, or of one subresource of it, wants to store.

    Raises StatusError 422 for a forged deletion."""
    strategy = served.strategy
    if subresource:
        new = dict(old)
        strategy.take(subresource, sent, new)
        if not served.custom:
            # Built-in kinds let a status writer label and annotate, custom ones do not.
            new["metadata"] = {**old["metadata"]}
            for field in ("labels", "annotations"):
                _copy_field(sent["metadata"], new["metadata"], field)
    else:
        new = dict(sent)
        if strategy.has_status:
            _copy_field(old, new, "status")
    metadata = new["metadata"] = _known_metadata(new)
    forged = _forged(metadata, old["metadata"])
    for field in _SERVERS_OWN:
        _copy_field(old["metadata"], metadata, field)
    if forged:
        raise errors.invalid(served.kind, served.group, metadata.get("name", ""), forged)
    strategy.prepare(new, old, writer, subresource)
    if strategy.counts and _content(new, strategy.has_status) != _content(old, strategy.has_status):
        metadata["generation"] = old["metadata"].get("generation", 1) + 1
    return new


def _forged(sent: Obj, old: Obj) -> list[Cause]:
    """Who deletes an object does it by deleting it."""
    return [
        errors.invalid_value(f"metadata.{field}", sent[field], "field is immutable")
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds")
        if sent.get(field) is not None and sent[field] != old.get(field)
    ]


def checked(served: Served, new: Obj, old: Obj | None, found: list[Cause]) -> Obj:
    """The object to store. `found` is what its strategy finds wrong. Raises StatusError 422 listing
    everything that is wrong."""
    causes: list[Cause] = meta.causes(
        new["metadata"], namespaced=served.namespaced, name_errors=served.strategy.name_errors
    )
    if old is not None:
        causes += _immutable(new["metadata"], old["metadata"])
    causes += found
    if causes:
        raise errors.invalid(served.kind, served.group, new["metadata"].get("name", ""), causes)
    return _ordered(new)


def _immutable(new: Obj, old: Obj) -> list[Cause]:
    causes = [
        errors.invalid_value(f"metadata.{field}", new.get(field), "field is immutable")
        for field in ("name", "namespace")
        if new.get(field) != old.get(field)
    ]
    if old.get("deletionTimestamp"):
        added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
        if added:
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers "
            detail += str(sorted(added))
            causes.append(errors.forbidden_field("metadata.finalizers", detail))
    return causes


def _known_metadata(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    kept = {field: metadata[field] for field in METADATA_FIELDS if metadata.get(field) not in (None, {}, [])}
    obj["metadata"] = kept
    return kept


def _content(obj: Obj, has_status: bool) -> Obj:
    left_out = ("metadata", "status") if has_status else ("metadata",)
    return {key: value for key, value in obj.items() if key not in left_out}


def _copy_field(source: Obj, target: Obj, field: str) -> None:
    if field in source:
        target[field] = copied(source[field])
    else:
        target.pop(field, None)


def copied(value: Any) -> Any:
    """A JSON value of its own; `copy.deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [copied(entry) for entry in value]
    return value


def _ordered(obj: Obj) -> Obj:
    """apiVersion, kind and metadata first: what people read, and what stored bytes begin with."""
    first = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
    return {**first, **{key: value for key, value in obj.items() if key not in first}}


def _expect(obj: Obj, field: str, value: str) -> None:
    given = obj.setdefault(field, value)
    if given != value:
        words = "API version" if field == "apiVersion" else "kind"
        raise errors.bad_request(
            f"the {words} in the data ({given}) does not match the expected one ({value})"
        )
