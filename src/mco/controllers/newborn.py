"""Gives nodes that were born in a custom pool that pool's labels (spec/node.md 3.7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mco.api import names
from mco.api.machineconfigpool import MachineConfigPool
from mco.controllers.caches import Caches
from mco.controllers.targets import Targets
from mco.plan.pool import firstboot
from mco.plan.pool.nodes import Standing

Newborns = dict[str, tuple[Standing, MachineConfigPool]]


class Nursery:
    def __init__(self, caches: Caches, targets: Targets) -> None:
        self._caches = caches
        self._targets = targets

    def find(self, members: Iterable[Standing]) -> Newborns:
        """Nodes that were born in a custom pool and do not have its labels yet, by name."""
        found: Newborns = {}
        for member in members:
            born_in = firstboot.custom_pool(member, self._owner)
            custom = self._caches.pools.store.get(born_in) if born_in else None
            if custom is not None:
                found[member.name] = member, custom
        return found

    async def label(self, newborns: Newborns) -> None:
        """In a paused pool too: it changes nothing on the machine. Nodes whose labels cannot be derived stay
        where they are until somebody labels them."""
        await self._targets.patch_all(
            (member.node, _patch(labels))
            for member, custom in newborns.values()
            if (labels := firstboot.labels(custom))
        )

    def _owner(self, config: str) -> str | None:
        found = self._caches.configs.store.get(config)
        owners = found.metadata.owner_references if found else None
        return owners[0].name if owners else None


def _patch(labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"labels": dict(labels), "annotations": {names.CUSTOM_POOL_LABELS_APPLIED: ""}},
    }
