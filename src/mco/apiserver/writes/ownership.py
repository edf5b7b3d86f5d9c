"""Who owns whom: an index of owner references by the owner's uid."""

from __future__ import annotations

from typing import Any

import msgspec

from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.store.revision import Key

Obj = dict[str, Any]


class Owner(msgspec.Struct, frozen=True):
    """One owner reference."""

    group: str
    kind: str
    name: str
    uid: str
    blocks: bool


def owners_of(metadata: Obj) -> list[Owner]:
    return [
        Owner(
            group=ref["apiVersion"].rpartition("/")[0],
            kind=ref["kind"],
            name=ref["name"],
            uid=ref["uid"],
            blocks=bool(ref.get("blockOwnerDeletion")),
        )
        for ref in metadata.get("ownerReferences") or ()
    ]


class Ownership:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._dependents: dict[str, set[Key]] = {}
        self._owners: dict[Key, list[Owner]] = {}

    def note(self, key: Key, owners: list[Owner]) -> bool:
        """Records an object's owners; whether they are other ones than before."""
        before = self._owners.get(key, [])
        if owners == before:
            return False
        self._drop(key)
        for owner in owners:
            self._dependents.setdefault(owner.uid, set()).add(key)
        if owners:
            self._owners[key] = owners
        return True

    def forget(self, key: Key, uid: str) -> list[Key]:
        """Records that an object is gone; whom that concerns: what it owned, and who owned it."""
        owners = [self.key_of(owner, key.namespace) for owner in self._owners.get(key, ())]
        self._drop(key)
        return [*self.dependents(uid), *(owner for owner in owners if owner is not None)]

    def dependents(self, uid: str) -> list[Key]:
        return sorted(self._dependents.get(uid, ()))

    def key_of(self, owner: Owner, namespace: str) -> Key | None:
        """Where an owner is stored; None for a kind that is not served."""
        served = self._catalog.of_kind(owner.group, owner.kind)
        return served.key(namespace, owner.name) if served else None

    def _drop(self, key: Key) -> None:
        for owner in self._owners.pop(key, ()):
            keys = self._dependents.get(owner.uid, set())
            keys.discard(key)
            if not keys:
                self._dependents.pop(owner.uid, None)
