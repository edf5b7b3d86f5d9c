"""Deleting as clients ask for it: with a propagation policy, and not everything may go."""

from __future__ import annotations

import msgspec

from mco.apiserver import errors
from mco.apiserver.registry.served import Served
from mco.apiserver.strategies.namespaces import IMMORTAL
from mco.apiserver.strategies.namespaces import RESOURCE as NAMESPACES
from mco.apiserver.writes.deletion import Deletion
from mco.apiserver.writes.garbage import CLEANUP, DEFINITIONS
from mco.apiserver.writes.writes import FOREGROUND, ORPHAN, Options, Writes

_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


class Deletions:
    """What has to happen before and after is the garbage collector's work."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def delete(
        self,
        served: Served,
        namespace: str,
        name: str,
        options: Options,
        asked: Deletion = Deletion(),  # noqa: B008 - immutable
        policy: str = "",
    ) -> tuple[bytes, bool]:
        """The object, and whether it is gone already. Raises StatusError 403, 404, 409."""
        if served.resource == NAMESPACES and name in IMMORTAL:
            raise errors.forbidden(served.plural, served.group, name, "this namespace may not be deleted")
        finalizer = CLEANUP if served.resource == DEFINITIONS else _FINALIZERS.get(policy, "")
        asked = msgspec.structs.replace(asked, finalizer=finalizer)
        return await self._writes.delete(served, namespace, name, options, asked)
