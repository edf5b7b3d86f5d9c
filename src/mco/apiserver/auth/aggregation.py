"""Keeps aggregated ClusterRoles equal to the sum of the roles that they select."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import selector
from mco.apiserver.auth.bootstrap import GROUP
from mco.apiserver.errors import StatusError
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.store.revision import Revision
from mco.apiserver.store.store import Store
from mco.apiserver.writes.writes import Options, Writes
from mco.runtime.logging import Logger

Obj = dict[str, Any]

RESOURCE = f"clusterroles.{GROUP}"
_log = Logger("mco.apiserver")


class Aggregation:
    """`observe` hears of every commit; `run` writes rules a moment later, as beside a real server."""

    def __init__(
        self, store: Store, catalog: Catalog, writes: Writes, options: Callable[[], Options]
    ) -> None:
        served = catalog.of_resource(RESOURCE)
        assert served is not None
        self._served = served
        self._store = store
        self._writes = writes
        self._options = options
        self._wake = asyncio.Event()
        self._wake.set()

    def observe(self, revision: Revision) -> None:
        if revision.key.resource == RESOURCE:
            self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.settle()

    async def settle(self) -> None:
        """Roles may be gathered from gathered ones: as long as something changes."""
        while await self._pass():
            pass

    async def _pass(self) -> bool:
        roles = [msgspec.json.decode(each.data) for each in self._store.page(RESOURCE).revisions]
        changed = False
        for role in roles:
            if "aggregationRule" not in role:
                continue
            rules = gathered(role, roles)
            if rules != (role.get("rules") or []):
                changed |= await self._write(role["metadata"]["name"], rules)
        return changed

    async def _write(self, name: str, rules: list[Obj]) -> bool:
        try:
            await self._writes.update(
                self._served, "", name, lambda old: {**old, "rules": rules}, self._options()
            )
        except StatusError as error:
            # Gone in the meantime, or invalid: the next change of it is the next chance.
            _log.warning("an aggregated role is not up to date", name=name, error=error.message)
            return False
        return True


def gathered(role: Obj, roles: list[Obj]) -> list[Obj]:
    """The rules of all roles that the role selects but itself, each once, in the order of names."""
    wanted = [
        selector(msgspec.convert(each, LabelSelector))
        for each in role["aggregationRule"].get("clusterRoleSelectors") or ()
    ]
    rules: list[Obj] = []
    for other in sorted(roles, key=lambda each: str(each["metadata"]["name"])):
        metadata = other["metadata"]
        if metadata["name"] == role["metadata"]["name"]:
            continue
        if any(each.matches(metadata.get("labels") or {}) for each in wanted):
            rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
