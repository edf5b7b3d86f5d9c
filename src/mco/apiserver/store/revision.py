"""A revision: one object as one change left it."""

from __future__ import annotations

from enum import IntEnum

import msgspec


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


class Page(msgspec.Struct, frozen=True):
    """Part of a list as of revision `number`; `more` tells whether objects follow the last one."""

    number: int
    revisions: list[Revision]
    more: bool
