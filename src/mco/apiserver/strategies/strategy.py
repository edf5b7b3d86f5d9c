"""The rules of a kind, with defaults that suit most of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from mco.api.schema import Schema
from mco.apiserver.errors import Cause
from mco.apiserver.schema.structural import structure
from mco.apiserver.strategies import names

Obj = dict[str, Any]


class Writer(msgspec.Struct, frozen=True):
    """Who writes, and when: what a strategy may record in an object."""

    user: str = ""
    groups: tuple[str, ...] = ()
    now: datetime = datetime.min


class Strategy:
    """`schema` is what is known of a built-in kind. `has_status`: status is written through its subresource
    only, but for a creation with `status_at_creation`. `counts`: `metadata.generation` counts the changes
    outside of metadata and status. `unconditional`: an update needs no resourceVersion. `shows_deleted`: who
    deletes an object gets its last state, not just word of it."""

    schema: ClassVar[Schema | None] = None
    has_status = False
    status_at_creation = False
    counts = False
    unconditional = True
    shows_deleted = False

    def take(self, subresource: str, sent: Obj, new: Obj) -> None:
        """Copies into `new`, an equal of the stored object, what a subresource may change of it."""
        if "status" in sent:
            new["status"] = sent["status"]
        else:
            new.pop("status", None)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer, subresource: str = "") -> None:
        """Fills in what the writer left out and restores what it may not change; edits `new`."""

    def held(self, _obj: Obj) -> bool:
        """Whether something besides finalizers keeps a deleted object."""
        return False

    def grace(self, _obj: Obj, _asked: int | None) -> int | None:
        """The seconds between the request to delete an object and its end, where somebody has asked for that
        many; None for kinds that know no such thing."""
        return None

    def mark(self, obj: Obj) -> None:
        """Shows in the object that its deletion was asked for, besides the deletion time."""

    def name_errors(self, name: str) -> list[str]:
        """Why an object of this kind cannot have that name."""
        return names.subdomain_errors(name)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        """What is wrong with the object, besides its metadata. Touches nothing else, so that it may run in
        another thread."""
        return []

    def validate_briefly(self, new: Obj, old: Obj | None) -> list[Cause] | None:
        """As `validate`; None where that takes so long that it should run in another thread."""
        return self.validate(new, old)

    def __init__(self) -> None:
        self._structure = structure(self.schema) if self.schema else None

    def prune(self, new: Obj) -> list[str]:
        """Drops what the kind does not know from `new`; the paths that it dropped."""
        _drop_nulls(new)
        return self._structure.prune(new) if self._structure else []

    def misshapen(self, new: Obj) -> list[Cause]:
        """Values of a wrong type: an object with such is not even one of the kind."""
        return self._structure.validate(new) if self._structure else []


def _drop_nulls(value: Any) -> None:
    """Built-in kinds know no null: it is as if the field was not there."""
    if isinstance(value, dict):
        if None in value.values():
            for key in [key for key, entry in value.items() if entry is None]:
                del value[key]
        value = value.values()
    for entry in value:
        if isinstance(entry, dict | list):
            _drop_nulls(entry)
