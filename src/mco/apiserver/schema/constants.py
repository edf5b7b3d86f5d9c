"""Are the defaults of a schema values that it takes?"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from mco.apiserver import errors
from mco.apiserver.cel.environment import CompileError
from mco.apiserver.errors import Cause
from mco.apiserver.schema.embedded import compile_embedded
from mco.apiserver.schema.structural import compile_prune
from mco.apiserver.schema.validations import Run, node
from mco.apiserver.schema.values import ABSENT, EMBEDDED, compile_values

Schema = Mapping[str, Any]


def default_causes(schema: Schema, field: str) -> list[Cause]:
    return list(_defaults(schema, field, root=True))


def _defaults(schema: Schema, field: str, *, root: bool = False) -> Iterator[Cause]:
    if schema.get("default") is not None:
        shown = {**schema, EMBEDDED: True} if root else schema
        for cause in _of_value(shown, schema["default"]):
            inner = f".{cause.field}" if cause.field and not cause.field.startswith("[") else cause.field
            yield Cause(cause.reason, cause.message, f"{field}.default{inner}")
    for name, sub in (schema.get("properties") or {}).items():
        yield from _defaults(sub, f"{field}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(sub := schema.get(word), Mapping):
            yield from _defaults(sub, f"{field}.{word}")


def _of_value(schema: Schema, value: Any) -> list[Cause]:
    """With paths from the value on; the first kind of mistake hides the next."""
    pruned = copy.deepcopy(value)
    dropped: list[str] = []
    compile_prune(schema)(pruned, "", dropped)
    causes = [errors.invalid_value("", value, "must not have unknown fields")] if dropped else []
    if (embedded := compile_embedded(schema)) is not None:
        embedded(value, "", causes)
    if not causes or dropped:
        compile_values(schema)(value, "", causes, ABSENT)
    if causes:
        return causes
    try:
        rules = node(schema)
    except CompileError:
        # The rule itself is complained of.
        return []
    if rules is not None:
        rules.run(value, None, "", Run(causes))
    return causes
