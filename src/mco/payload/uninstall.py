"""Takes an installation away, in the reverse of the order in which it was made.

Nodes keep their files and what they run. Who writes goes first, and everything waits until it is gone: a
component that is still there would put back what is removed, or drain one more node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mco.api import names, resources
from mco.api.core import Node
from mco.base.errors import InvalidInput, Unavailable
from mco.kube.client import Client
from mco.kube.errors import NotFoundError
from mco.kube.wholes import NoSuchKind, Wholes
from mco.payload.manifest import Manifest
from mco.payload.situation import body_of
from mco.plan.pool import drain
from mco.runtime.clock import Clock

POLL = 0.5
_WORKLOADS = ("Deployment", "DaemonSet")
_DEFINITIONS = "CustomResourceDefinition"
# Deleted, they are there until all that is in them is not.
_ENDING = ("Namespace", _DEFINITIONS)

Tell = Callable[[Manifest], None]


async def uninstall(
    payload: Sequence[Manifest],
    operands: Sequence[Manifest],
    client: Client,
    clock: Clock,
    tell: Tell,
    *,
    purge: bool,
    timeout: float,
) -> list[str]:
    """Answers the nodes that were uncordoned. Definitions go only with `purge`, and with them every object of
    their kinds. Raises Unavailable when a component does not end within `timeout` seconds; the next run goes
    on where this one stopped."""
    objects = Wholes(client)
    deadline = clock.monotonic() + timeout
    workloads = [m for m in (*reversed(payload), *reversed(operands)) if m.kind in _WORKLOADS]
    for each in workloads:
        await _remove(each, objects, tell, "Foreground")
        await _gone(each, objects, clock, deadline)
    freed = await _uncordon(client, objects)
    rest = [each for each in reversed(payload) if _goes(each, purge)]
    for each in rest:
        await _remove(each, objects, tell, "Background")
    for each in rest:
        if each.kind in _ENDING:
            await _gone(each, objects, clock, deadline)
    return freed


def _goes(each: Manifest, purge: bool) -> bool:
    """What is only created where it is missing may be somebody else's."""
    if each.kind in _WORKLOADS or each.deletes or each.create_only:
        return False
    return purge or each.kind != _DEFINITIONS


async def _remove(each: Manifest, objects: Wholes, tell: Tell, propagation: str) -> None:
    try:
        if await objects.get(each.body) is None:
            return
        await objects.delete(each.body, propagation)
    except (NoSuchKind, NotFoundError):
        return
    tell(each)


async def _gone(each: Manifest, objects: Wholes, clock: Clock, deadline: float) -> None:
    """With all that it has: deleted in the foreground, a workload stays as long as its Pods do."""
    while await objects.get(each.body) is not None:
        if clock.monotonic() > deadline:
            raise Unavailable(
                f"timed out waiting for the end of {each.identity}",
                subject=str(each.identity),
                hint="see what of it does not end, then run the same command again",
            )
        await clock.sleep(POLL)


async def _uncordon(client: Client, objects: Wholes) -> list[str]:
    """Those that were cordoned for a drain of ours, and not by a person."""
    freed = []
    for node in (await client.list(resources.NODES)).items:
        whole = await objects.get(body_of("v1", "Node", node.name))
        if whole is not None and (patch := freeing(whole)) is not None:
            await client.patch(resources.NODES, node.name, patch)
            freed.append(node.name)
    return freed


def freeing(whole: Mapping[str, Any]) -> dict[str, Any] | None:
    """The patch that ends a drain of ours: work may come back, and whoever installs again drains again. None
    for a Node that has nothing to be freed from."""
    node = msgspec.convert(whole, Node)
    taints = whole["spec"].get("taints") or []
    kept = [taint for taint in taints if taint["key"] != names.UPDATE_TAINT]
    spec: dict[str, Any] = {"taints": kept or None} if len(kept) < len(taints) else {}
    metadata: dict[str, Any] = {"resourceVersion": node.metadata.resource_version}
    if node.spec.unschedulable and _drained_by_us(node):
        spec["unschedulable"] = None
        metadata["annotations"] = {names.LAST_APPLIED_DRAIN: None}
    return {"metadata": metadata, "spec": spec} if spec else None


def _drained_by_us(node: Node) -> bool:
    try:
        asked = drain.request(node)
    except InvalidInput:
        return False
    return asked is not None and asked.cordon
