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
        seen: dict[bytes, int] = {}
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            encoded, shown = identity(entry)
            seen[encoded] = seen.get(encoded, 0) + 1
            if seen[encoded] == 2:
                causes.append(errors.duplicate(f"{path}[{index}]", shown))

    return check


def _object(value: Any, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, dict):
        return
    version, kind = value.get("apiVersion"), value.get("kind")
    for field, given in (("apiVersion", version), ("kind", kind)):
        if given is None:
            causes.append(errors.required(f"{path}.{field}".lstrip(".")))
    for field, given, problem in (
        ("kind", kind, _kind_problem(kind)),
        ("apiVersion", version, _version_problem(version)),
    ):
        if problem:
            causes.append(errors.invalid_value(f"{path}.{field}".lstrip("."), given, problem))
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return
    named = {"name": "fakename", **metadata}
    for cause in meta.causes(named, namespaced=False, name_errors=names.path_segment_errors):
        causes.append(Cause(cause.reason, cause.message, f"{path}.{cause.field}"))
    namespace = metadata.get("namespace") or ""
    for problem in names.label_errors(namespace) if namespace else ():
        causes.append(errors.invalid_value(f"{path}.metadata.namespace", namespace, problem))


def _kind_problem(kind: Any) -> str:
    if kind is None:
        return ""
    if not kind:
        return "must not be empty"
    problems = names.dns1035_errors(kind.lower())
    return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""


def _version_problem(version: Any) -> str:
    if version is None:
        return ""
    if not version:
        return "must not be empty"
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""


def compile_decoding(schema: Schema) -> Check | None:
    """Objects inside of the object that are not even objects. None where there are none."""
    return _walker(schema, lambda sub: _decoded if sub.get(EMBEDDED) else None)


def _decoded(value: Any, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, dict):
        return
    for field in ("kind", "apiVersion"):
        given = value.get(field)
        if given is not None and not isinstance(given, str):
            causes.append(errors.invalid_value(f"{path}.{field}".lstrip("."), given, "must be a string"))
    metadata = value.get("metadata")
    if metadata is not None and (problem := meta.shape_error({"metadata": metadata})):
        causes.append(errors.invalid_value(f"{path}.metadata".lstrip("."), metadata, problem))
