"""Deleting what depends on others: owner references, namespaces, the objects of a definition."""

from __future__ import annotations

from typing import Any

from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.registry.served import Served
from mco.apiserver.store.store import Store
from mco.apiserver.writes.writes import NO_PRECONDITIONS, Options, Preconditions, Writes

Obj = dict[str, Any]


class Deletions:
    """`delete` is the one way in which the server itself and its clients delete objects."""

    def __init__(self, store: Store, catalog: Catalog, writes: Writes) -> None:
        self._store = store
        self._catalog = catalog
        self._writes = writes

    async def delete(
        self,
        served: Served,
        namespace: str,
        name: str,
        options: Options,
        preconditions: Preconditions = NO_PRECONDITIONS,
        policy: str = "",
    ) -> tuple[bytes, bool]:
        return await self._writes.delete(served, namespace, name, options, preconditions)
