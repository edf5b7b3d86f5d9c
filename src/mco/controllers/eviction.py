"""Asks the pods of a node to leave, through the Eviction API, so that every budget has its say (spec/node.md
4.1: unmanaged pods and those with an emptyDir go too, those of a DaemonSet stay, each has its own grace)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from mco.api import resources
from mco.api.core import Pod, PodDisruptionBudget
from mco.kube.client import Client
from mco.kube.errors import APIError, ConflictError, NotFoundError
from mco.plan.pool import drain


class Look(msgspec.Struct, frozen=True):
    """Pods that are still there, and a sentence for each that may not go."""

    leaving: tuple[Pod, ...]
    refusals: tuple[str, ...] = ()


class Evictions:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def look(self, node: str) -> Look:
        """Asks every pod that has to go. Where no kubelet has to end them they are gone right after."""
        leaving = await self._leaving(node)
        staying = [pod for pod in leaving if not pod.metadata.deletion_timestamp]
        if not staying:
            return Look(leaving)
        answers = await asyncio.gather(*(self._evict(pod) for pod in staying))
        refused = [(pod, error) for pod, error in zip(staying, answers, strict=True) if error]
        if not refused:
            return Look(await self._leaving(node))
        budgets = await self._budgets({pod.metadata.namespace for pod, _ in refused})
        return Look(leaving, tuple(drain.refusal(pod, _message(error), budgets) for pod, error in refused))

    async def _leaving(self, node: str) -> tuple[Pod, ...]:
        pods = await self._client.list(resources.PODS, field_selector=f"spec.nodeName={node}")
        movable = drain.movable(pods.items)
        stay = await asyncio.gather(*(self._put_back(pod) for pod in movable))
        return tuple(pod for pod, stays in zip(movable, stay, strict=True) if not stays)

    async def _put_back(self, pod: Pod) -> bool:
        """Whether the pod's DaemonSet would only make another one; one that was deleted does not."""
        owner = drain.daemon_set(pod)
        if owner is None:
            return False
        try:
            await self._client.get(resources.DAEMON_SETS, owner.name, namespace=pod.metadata.namespace)
        except NotFoundError as error:
            # A server without DaemonSets answers 404 too, but not about this one.
            details = error.status.details
            return details is None or details.name != owner.name
        except APIError:
            return True
        return True

    async def _evict(self, pod: Pod) -> APIError | None:
        """None when the pod goes, is gone, or is not the one that was looked at: the next look finds out.

        Not tied to the pod's version, which says nothing about whether its node shall be emptied: a server
        that refuses for its sake has already counted the disruption against the budget, for two minutes."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.metadata.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.metadata.uid}},
        }
        path = resources.PODS.path(pod.name, namespace=pod.metadata.namespace, subresource="eviction")
        try:
            # Whoever is told to come again later is told why, too: that is worth more than another try.
            await self._client.request("POST", path, body=body, patience=0.0)
        except (NotFoundError, ConflictError):
            return None
        except APIError as error:
            return error
        return None

    async def _budgets(self, namespaces: set[str]) -> Sequence[PodDisruptionBudget]:
        """Those that may be behind a refusal; none when nobody may look at them."""
        found: list[PodDisruptionBudget] = []
        for namespace in sorted(namespaces):
            try:
                found += (
                    await self._client.list(resources.POD_DISRUPTION_BUDGETS, namespace=namespace)
                ).items
            except APIError:
                continue
        return found


def _message(error: APIError) -> str:
    """The server's sentence, and the reasons that it gives."""
    causes = [cause.message for cause in error.causes if cause.message and cause.message not in error.message]
    return " ".join([error.message, *causes])
