"""A revision: one object as one change left it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import msgspec

COLUMNS = "r.rv, r.resource, r.namespace, r.name, r.change, r.previous, r.data"
"""What a revision is read from."""


class Change(IntEnum):
    """What a revision did; the numbers are stored."""

    ADDED = 0
    MODIFIED = 1
    DELETED = 2


class Key(msgspec.Struct, frozen=True, order=True):
    """`resource` is `plural` or `plural.group`; `namespace` is empty for a cluster-scoped object."""

    resource: str
    namespace: str
    name: str


class Revision(msgspec.Struct, frozen=True, gc=False):
    """`number` is the resourceVersion, `previous` the number of the revision before it (0: none),
    `data` the object as JSON (for DELETED its last state, with the deletion's resourceVersion)."""

    number: int
    key: Key
    change: Change
    previous: int
    data: bytes

    @property
    def checksum(self) -> int:
        """Of everything that is stored of it."""
        key = self.key
        place = (self.number, key.resource, key.namespace, key.name, int(self.change), self.previous)
        return zlib.crc32(self.data, zlib.crc32(repr(place).encode()))


def revision_of(row: Sequence[Any]) -> Revision:
    """From a row with `COLUMNS`. Raises ValueError for a change that does not exist."""
    number, resource, namespace, name, change, previous, data = row
    return Revision(number, Key(resource, namespace, name), Change(change), previous, data)


class Page(msgspec.Struct, frozen=True):
    """Part of a list as of revision `number`; `more` tells whether objects follow the last one."""

    number: int
    revisions: list[Revision]
    more: bool
