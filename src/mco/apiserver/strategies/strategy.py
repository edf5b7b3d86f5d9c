"""The rules of a kind, with defaults that suit most of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from mco.apiserver.errors import Cause
from mco.apiserver.strategies import names

Obj = dict[str, Any]


class Writer(msgspec.Struct, frozen=True):
    """Who writes, and when: what a strategy may record in an object."""

    user: str = ""
    groups: tuple[str, ...] = ()
    now: datetime = datetime.min


class Strategy:
    """`has_status`: status is written through its subresource only. `counts`: `metadata.generation` counts
    the changes outside of metadata and status."""

    has_status = False
    status_at_creation = False
    counts = False

    def take(self, subresource: str, sent: Obj, new: Obj) -> None:
        """Copies into `new`, an equal of the stored object, what a subresource may change of it."""
        if "status" in sent:
            new["status"] = sent["status"]
        else:
            new.pop("status", None)

    def prepare(self, new: Obj, old: Obj | None, writer: Writer) -> None:
        """Fills in what the writer left out and restores what it may not change; edits `new`."""

    def name_errors(self, name: str) -> list[str]:
        """Why an object of this kind cannot have that name."""
        return names.subdomain_errors(name)

    def validate(self, new: Obj, old: Obj | None) -> list[Cause]:
        """What is wrong with the object, besides its metadata."""
        return []

    def prune(self, new: Obj) -> list[str]:
        """Drops what the kind does not know from `new`; the paths that it dropped."""
        return []
