"""What is inside of an object besides values: whole objects of other kinds, and lists with keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.errors import Cause
from mco.apiserver.schema.values import EMBEDDED, LIST_TYPE, identity_of
from mco.apiserver.strategies import names
from mco.apiserver.writes import metadata as meta

Schema = Mapping[str, Any]
Check = Callable[[Any, str, list[Cause]], None]


def compile_embedded(schema: Schema) -> Check | None:
    """Objects inside of the object have a kind and sound metadata. None where there are none."""
    return _walker(schema, lambda sub: _object if sub.get(EMBEDDED) else None)


def compile_lists(schema: Schema) -> Check | None:
    """No element twice in a set or a keyed list. None where there are none."""
    return _walker(schema, lambda sub: _unique(sub) if sub.get(LIST_TYPE) in ("map", "set") else None)


def _walker(schema: Schema, own_of: Callable[[Schema], Check | None]) -> Check | None:
    """Applies to each value the check that its schema asks for."""
    own = own_of(schema)
    walkers = {name: _walker(sub, own_of) for name, sub in (schema.get("properties") or {}).items()}
    properties = {name: walker for name, walker in walkers.items() if walker is not None}
    extra, items = schema.get("additionalProperties"), schema.get("items")
    rest = _walker(extra, own_of) if isinstance(extra, Mapping) else None
    item = _walker(items, own_of) if isinstance(items, Mapping) else None
    if own is None and not properties and rest is None and item is None:
        return None

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        if own is not None:
            own(value, path, causes)
        if isinstance(value, dict):
            for name, entry in value.items():
                below = properties.get(name, rest)
                if below is not None:
                    below(entry, f"{path}.{name}" if path else name, causes)
        elif isinstance(value, list) and item is not None:
            for index, entry in enumerate(value):
                item(entry, f"{path}[{index}]", causes)

    return check


def _unique(schema: Schema) -> Check:
    identity = identity_of(schema)

    def check(value: Any, path: str, causes: list[Cause]) -> None:
        seen: set[bytes] = set()
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            encoded, shown = identity(entry)
            if encoded in seen:
                causes.append(errors.duplicate(f"{path}[{index}]", shown))
            seen.add(encoded)

    return check


def _object(value: Any, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, dict):
        return
    for field in ("apiVersion", "kind"):
        given = value.get(field)
        if given is not None and not isinstance(given, str):
            causes.append(errors.invalid_value(f"{path}.{field}", given, "must be a string"))
        elif not given:
            causes.append(errors.required(f"{path}.{field}", "must not be empty"))
    metadata = value.get("metadata")
    if metadata is None:
        return
    if problem := meta.shape_error({"metadata": metadata}):
        causes.append(errors.invalid_value(f"{path}.metadata", metadata, problem))
        return
    named = {"name": "fakename", **metadata}
    for cause in meta.causes(named, namespaced=False, name_errors=names.path_segment_errors):
        causes.append(Cause(cause.reason, cause.message, f"{path}.{cause.field}"))
