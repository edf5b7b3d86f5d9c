"""Eviction: a deletion of a Pod that may be refused for the sake of those who depend on it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from mco.apiserver.disruption import status as statuses
from mco.apiserver.disruption.budgets import Budgets
from mco.apiserver.errors import StatusError
from mco.apiserver.registry.served import Served
from mco.apiserver.store.revision import Revision
from mco.apiserver.writes.deletion import Deletion, Preconditions
from mco.apiserver.writes.deletions import Deletions
from mco.apiserver.writes.metadata import timestamp
from mco.apiserver.writes.writes import Options, Writes

Obj = dict[str, Any]

ATTEMPTS = 20
TOO_MANY = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Evictions:
    def __init__(self, writes: Writes, deletions: Deletions, budgets: Budgets) -> None:
        self._writes = writes
        self._deletions = deletions
        self._budgets = budgets

    async def evict(
        self, served: Served, namespace: str, name: str, options: Options, asked: Deletion, policy: str
    ) -> None:
        """Raises StatusError 429 when a budget refuses, 500 when several are concerned, 404, 409."""
        for left in reversed(range(ATTEMPTS)):
            current = self._writes.read(served, namespace, name)
            tied = await self._permit(current, options) and not asked.preconditions.resource_version
            wanted = _as_eviction(asked, options.writer.now)
            if tied:
                wanted = _unchanged_since(wanted, current)
            try:
                await self._deletions.delete(served, namespace, name, options, wanted, policy)
                return
            except StatusError as error:
                if error.code != 409 or not tied or not left:
                    raise

    async def _permit(self, current: Revision, options: Options) -> bool:
        """Whether the Pod may go because of the state that it is in, and only if it still is."""
        pod = statuses.decode_pod(current.data)
        if pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp:
            return False
        if pod.status.phase == "Pending":
            return True
        budgets = self._budgets.of(current.key)
        if len(budgets) > 1:
            raise StatusError(500, "", TOO_MANY)
        if not budgets:
            return False
        return not await self._budgets.spend(budgets[0], pod, dry_run=options.dry_run)


def _unchanged_since(asked: Deletion, current: Revision) -> Deletion:
    uid = asked.preconditions.uid
    return msgspec.structs.replace(asked, preconditions=Preconditions(uid, str(current.number)))


def _as_eviction(asked: Deletion, now: datetime) -> Deletion:
    """The Pod says why it goes."""

    def last_words(pod: Obj) -> Obj:
        status = pod.get("status") or {}
        others = [each for each in status.get("conditions") or () if each.get("type") != "DisruptionTarget"]
        return {
            **pod,
            "status": {**status, "conditions": [*others, _TARGET | {"lastTransitionTime": timestamp(now)}]},
        }

    return msgspec.structs.replace(asked, last_words=last_words)


_TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
