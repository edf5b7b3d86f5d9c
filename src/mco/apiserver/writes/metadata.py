"""Names, labels, annotations: what every object's metadata must satisfy."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from mco.apiserver.errors import Cause, invalid_value, required, wrong_type
from mco.apiserver.strategies.names import label_value_errors, qualified_name_errors

Obj = dict[str, Any]

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
ANNOTATIONS_LIMIT = 256 * 1024


def timestamp(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def generated(prefix: str) -> str:
    """A name from `generateName`: five random characters, the prefix cut so that a label still holds it."""
    return prefix[:58] + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def causes(metadata: Obj, *, namespaced: bool, name_errors: Any) -> list[Cause]:
    """What is wrong with an object's metadata; `name_errors` is the rule of its kind."""
    name = metadata.get("name")
    found: list[Cause] = []
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    else:
        found += [invalid_value("metadata.name", name, problem) for problem in name_errors(name)]
    if namespaced and not metadata.get("namespace"):
        found.append(required("metadata.namespace"))
    found += _map_causes(metadata, "labels", label_value_errors)
    found += _map_causes(metadata, "annotations", _any_value)
    size = sum(len(k) + len(v) for k, v in (metadata.get("annotations") or {}).items() if isinstance(v, str))
    if size > ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"
        found.append(Cause("FieldValueTooLong", message, "metadata.annotations"))
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        found += [
            required(f"metadata.ownerReferences[{index}].{field}")
            for field in ("apiVersion", "kind", "name", "uid")
            if not owner.get(field)
        ]
    for finalizer in metadata.get("finalizers") or ():
        problems = qualified_name_errors(finalizer)
        found += [invalid_value("metadata.finalizers", finalizer, problem) for problem in problems]
    return found


def shape_error(obj: Obj) -> str:
    """Why the object's metadata cannot even be read, or the empty text."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return "metadata must be an object"
    for field, kind in _SHAPES.items():
        value = metadata.get(field)
        if value is not None and not isinstance(value, kind):
            return f"metadata.{field} must be of type {_NAMES[kind]}"
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            if not isinstance(value, str):
                return f"metadata.{field}.{key} must be of type string"
    if not all(isinstance(item, str) for item in metadata.get("finalizers") or ()):
        return "metadata.finalizers must be a list of strings"
    if not all(isinstance(item, dict) for item in metadata.get("ownerReferences") or ()):
        return "metadata.ownerReferences must be a list of objects"
    return ""


_SHAPES: dict[str, type] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "labels": dict,
    "annotations": dict,
    "ownerReferences": list,
    "finalizers": list,
}
_NAMES: dict[type, str] = {str: "string", dict: "object", list: "array"}


def _any_value(_value: str) -> list[str]:
    return []


def _map_causes(metadata: Obj, field: str, value_errors: Any) -> list[Cause]:
    found = []
    for key, value in (metadata.get(field) or {}).items():
        if not isinstance(value, str):
            found.append(wrong_type(f"metadata.{field}.{key}", value, "must be a string"))
            continue
        # Annotation keys are judged in lower case, as the real server does.
        judged = key.lower() if field == "annotations" else key
        problems = [(key, problem) for problem in qualified_name_errors(judged)]
        problems += [(value, problem) for problem in value_errors(value)]
        found += [invalid_value(f"metadata.{field}", shown, problem) for shown, problem in problems]
    return found
