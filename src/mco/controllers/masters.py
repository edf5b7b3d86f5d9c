"""Keeps the masters' labels and taints as the cluster's Scheduler object says (spec/node.md 3.3).

Many clusters have no such kind: then nothing is done, and it is looked for again now and then.
"""

from __future__ import annotations

from mco.api import names, resources
from mco.api.core import Node
from mco.api.scheduler import Scheduler
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.informer import Informer
from mco.plan.pool import masters
from mco.runtime.clock import Clock
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.masters")
LOOK_AGAIN, ASK_AGAIN = 300.0, 10.0
"""Seconds: while there is no such kind, and while the server cannot say."""


class MastersController:
    """`reconcile` takes a Node's name; `schedulers` is to be run by `follow`."""

    def __init__(self, client: Client, nodes: Informer[Node], clock: Clock) -> None:
        self.schedulers = Informer(client, resources.SCHEDULERS)
        self._client = client
        self._nodes = nodes
        self._clock = clock
        self._deleted = False
        self.schedulers.add_handler(self._seen)

    def affected(self, old: Node | None, new: Node | None) -> set[str]:
        """Masters, whatever changed: what was changed by hand is put back."""
        del old
        return {new.name} if new is not None and masters.is_master(new) else set()

    def all(self) -> set[str]:
        return {node.name for node in self._nodes.store.values() if masters.is_master(node)}

    async def reconcile(self, name: str) -> float | None:
        node = self._nodes.store.get(name)
        schedulable = self._schedulable()
        if node is None or schedulable is None or not masters.is_master(node):
            return None
        patch = masters.patch(node, schedulable)
        if patch:
            await self._client.patch(resources.NODES, name, patch)
        return None

    async def follow(self) -> None:
        """Runs the cache as soon as the server has the kind, until cancelled."""
        while (pause := await self._until_served()) is not None:
            await self._clock.sleep(pause)
        await self.schedulers.run()

    async def _until_served(self) -> float | None:
        """Seconds until the next question, None when the kind is there."""
        try:
            await self._client.request("GET", resources.SCHEDULERS.path(), params={"limit": "1"})
        except NotFoundError:
            return LOOK_AGAIN
        except MCOError as error:
            _log.warning("cannot ask for the Scheduler", error=str(error))
            return ASK_AGAIN
        return None

    def _schedulable(self) -> bool | None:
        """None when nobody said so; a Scheduler that was deleted counts as one that says no."""
        found = self.schedulers.store.get(names.SCHEDULER)
        if found is not None:
            return found.spec.masters_schedulable
        return False if self._deleted else None

    def _seen(self, _: Scheduler | None, new: Scheduler | None) -> None:
        self._deleted = new is None
