"""A structural schema as three functions: prune, default, validate.

Each node of the schema is compiled once to closures over its constants, so that an object of a few hundred
fields costs tens of microseconds.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

from mco.apiserver.errors import Cause
from mco.apiserver.schema.embedded import compile_decoding, compile_embedded, compile_lists
from mco.apiserver.schema.validations import Node, Run, node
from mco.apiserver.schema.values import ABSENT, compile_values

Schema = Mapping[str, Any]
Prune = Callable[[Any, str, list[str]], None]
Default = Callable[[Any], None]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_BRIEF = 20_000
"""Of cost, some ten milliseconds."""


class Structure:
    """The compiled schema of one version of a custom resource, or of a built-in kind."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._prune = compile_prune(schema, whole=True)
        self._default = compile_default(schema)
        self._values = compile_values(schema, whole=True)
        self._embedded = compile_embedded(schema)
        self._lists = compile_lists(schema)
        self._decoding = compile_decoding(schema)

    def prune(self, obj: Any) -> list[str]:
        """Removes fields that the schema does not know; their paths."""
        dropped: list[str] = []
        self._prune(obj, "", dropped)
        return dropped

    def undecodable(self, obj: Any) -> list[Cause]:
        """What makes an object none at all: objects inside of it that are none."""
        causes: list[Cause] = []
        if self._decoding is not None:
            self._decoding(obj, "", causes)
        return causes

    def default(self, obj: Any) -> None:
        """Sets the defaults of absent fields; null where it may not be is as if the field was not there."""
        self._default(obj)

    def validate(self, obj: Any, old: Any = None) -> list[Cause]:
        """Everything that is wrong with the object, in the order in which the real server tells it; `old` is
        what it was before: whatever was wrong then and did not change passes."""
        return self._validated(obj, old, Run([]))

    def validate_briefly(self, obj: Any, old: Any) -> list[Cause] | None:
        """As `validate`; None where the rules take so long that others should not wait for it."""
        run = Run([], _BRIEF)
        causes = self._validated(obj, old, run)
        return None if run.is_over else causes

    def _validated(self, obj: Any, old: Any, run: Run) -> list[Cause]:
        causes = run.causes
        self._values(obj, "", causes, ABSENT if old is None else old)
        if self._embedded is not None:
            self._embedded(obj, "", causes)
        if self._lists is not None and not (old is not None and self._has_duplicates(old)):
            self._lists(obj, "", causes)
        if self._rules is None:
            return causes
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, Cause("FieldValueInvalid", f"Invalid value: null: {_NOT_CHECKED}", "<nil>")]
        self._rules.run(obj, old, "", run)
        return causes

    def _has_duplicates(self, old: Any) -> bool:
        found: list[Cause] = []
        if self._lists is not None:
            self._lists(old, "", found)
        return bool(found)

    @functools.cached_property
    def _rules(self) -> Node | None:
        """Compiled when first needed: a definition has been checked before it is served."""
        return node(self._schema, whole=True)


_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to "
    "complete validation"
)


def structure(schema: Schema) -> Structure:
    """Compiles the schema of a whole object: apiVersion, kind and metadata are the API server's business."""
    return Structure(schema)


def compile_prune(schema: Schema, *, whole: bool = False) -> Prune:
    whole = whole or bool(schema.get(EMBEDDED))
    known = {
        name: compile_prune(sub)
        for name, sub in (schema.get("properties") or {}).items()
        if not (whole and name in _OBJECT_FIELDS)
    }
    extra = schema.get("additionalProperties")
    rest = compile_prune(extra) if isinstance(extra, Mapping) else None
    items = schema.get("items")
    item = compile_prune(items) if isinstance(items, Mapping) else None
    keeps = bool(schema.get(PRESERVE)) or extra is True

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        if isinstance(value, dict):
            for name in tuple(value):
                below = known.get(name)
                if below is not None:
                    below(value[name], _join(path, name), dropped)
                elif rest is not None:
                    rest(value[name], _join(path, name), dropped)
                elif not keeps and not (whole and name in _OBJECT_FIELDS):
                    del value[name]
                    dropped.append(_join(path, name))
        elif isinstance(value, list) and item is not None:
            for index, entry in enumerate(value):
                item(entry, f"{path}[{index}]", dropped)

    return prune


def compile_default(schema: Schema) -> Default:
    properties = schema.get("properties") or {}
    defaults = {name: sub["default"] for name, sub in properties.items() if "default" in sub}
    nullable = {name for name, sub in properties.items() if sub.get("nullable")}
    strict = frozenset(properties) - nullable
    below = {name: compile_default(sub) for name, sub in properties.items() if _is_container(sub)}
    extra, items = schema.get("additionalProperties"), schema.get("items")
    rest = compile_default(extra) if isinstance(extra, Mapping) and _is_container(extra) else None
    item = compile_default(items) if isinstance(items, Mapping) and _is_container(items) else None

    def default(value: Any) -> None:
        if isinstance(value, dict):
            if None in value.values():
                for name in [name for name, entry in value.items() if entry is None and name in strict]:
                    del value[name]
            for name, constant in defaults.items():
                if name not in value:
                    value[name] = copy.deepcopy(constant)
            for name, apply in below.items():
                if name in value:
                    apply(value[name])
            if rest is not None:
                for name, entry in value.items():
                    if name not in properties:
                        rest(entry)
        elif isinstance(value, list) and item is not None:
            for entry in value:
                item(entry)

    return default


def _is_container(schema: Schema) -> bool:
    """Whether there are fields in the value that may have defaults, or be null where they may not."""
    return any(schema.get(word) for word in ("properties", "items")) or isinstance(
        schema.get("additionalProperties"), Mapping
    )


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
