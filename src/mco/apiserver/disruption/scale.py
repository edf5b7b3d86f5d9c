"""How many pods their controllers want: what percentages and `maxUnavailable` of a budget are measured by.

Kinds of workloads are not served here, so pods that name one as their controller are as those whose
controller was deleted. Definitions with a scale subresource count. Pods without a controller are not counted,
as on the real server: a budget of such takes a number for `minAvailable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mco.api.meta.jsonpath import compile_path
from mco.api.meta.objects import OwnerReference
from mco.apiserver.disruption.status import Pod
from mco.apiserver.registry.catalog import Catalog
from mco.apiserver.store.store import Store
from mco.base.errors import MCOError

_SCALABLE = frozenset(
    {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "ReplicationController")}
)
_UNSCALABLE = {("apps", "DaemonSet"): "daemonsets.apps", ("batch", "Job"): "jobs.batch"}


class UnknownScale(MCOError):
    """Nobody can tell how many pods there should be."""


class Scales:
    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def __call__(self, pods: Sequence[Pod]) -> int:
        """The sum over the controllers of these pods, each counted once. Raises UnknownScale."""
        found: dict[str, int] = {}
        for pod in pods:
            owner = pod.metadata.controller()
            if owner is not None and owner.uid not in found:
                found[owner.uid] = self._replicas(owner, pod)
        return sum(found.values())

    def _replicas(self, owner: OwnerReference, pod: Pod) -> int:
        group = owner.api_version.rpartition("/")[0]
        missing = UnknownScale(f'found no controllers for pod "{pod.metadata.name}"')
        served = self._catalog.of_kind(group, owner.kind)
        if served is None:
            if (group, owner.kind) in _SCALABLE:
                raise missing
            raise UnknownScale(_cannot(_UNSCALABLE.get((group, owner.kind), "")) or _no_match(owner))
        if not served.replicas_path:
            raise UnknownScale(_cannot(served.resource))
        revision = self._store.get(served.key(pod.metadata.namespace, owner.name))
        obj: Any = msgspec.json.decode(revision.data) if revision else None
        if obj is None or obj["metadata"]["uid"] != owner.uid:
            raise missing
        return int(next(iter(compile_path(served.replicas_path)(obj)), 0))


def _cannot(resource: str) -> str:
    return f"{resource} does not implement the scale subresource" if resource else ""


def _no_match(owner: OwnerReference) -> str:
    return f'no matches for kind "{owner.kind}" in version "{owner.api_version}"'
