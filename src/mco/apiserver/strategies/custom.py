"""Objects of a CustomResourceDefinition: pruned, defaulted and validated by its structural schema."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from mco.apiserver.errors import Cause
from mco.apiserver.schema.structural import Structure, structure
from mco.apiserver.strategies.strategy import Obj, Strategy, Writer


class CustomStrategy(Strategy):
    counts = True
    unconditional = False

    def __init__(self, schema: Mapping[str, Any], *, has_status: bool) -> None:
        super().__init__()
        self.has_status = has_status
        self._compiled = _compiled(msgspec.json.encode(schema))

    def prune(self, new: Obj) -> list[str]:
        return self._compiled.prune(new)

    def misshapen(self, new: Obj) -> list[Cause]:
        return self._compiled.undecodable(new)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        self._compiled.default(new)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        return self._compiled.validate(new, old)

    def validate_briefly(self, new: Obj, old: Obj | None) -> list[Cause] | None:
        return self._compiled.validate_briefly(new, old)


@functools.lru_cache(maxsize=64)
def _compiled(schema: bytes) -> Structure:
    """One for all servers of a process, and for a definition that is served anew with the same schema."""
    return structure(msgspec.json.decode(schema))
