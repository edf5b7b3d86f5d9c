"""Tells nodes where to go: target, taint and topology of a Node, and the desired config of its
MachineConfigNode (spec/node.md 3.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mco.api import names, resources
from mco.api.core import Node, Taint
from mco.api.machineconfignode import MachineConfigNode
from mco.base.errors import MCOError
from mco.kube.client import Client
from mco.kube.errors import ConflictError, NotFoundError
from mco.kube.informer import Informer
from mco.kube.requests import PatchKind
from mco.plan.pool import nodes
from mco.plan.pool.rollout import Change, Rollout
from mco.runtime.logging import Logger

_log = Logger("mco.controllers.node")
PARALLEL_WRITES = 32


class Targets:
    """`wrote` is told every Node that the server answered with."""

    def __init__(
        self, client: Client, reports: Informer[MachineConfigNode], wrote: Callable[[Node], None]
    ) -> None:
        self._client = client
        self._reports = reports
        self._wrote = wrote
        self._writes = asyncio.Semaphore(PARALLEL_WRITES)

    async def apply(self, plan: Rollout) -> tuple[list[str], BaseException | None]:
        """Writes a plan; returns the nodes that were sent off, and the first error. A node that somebody
        changed or deleted meanwhile is no error: that change brings the next pass."""
        writes = (self._write(plan.config, change) for change in plan.changes)
        results = await asyncio.gather(*writes, return_exceptions=True)
        targeted = [
            change.node.name
            for change, result in zip(plan.changes, results, strict=True)
            if change.target and result is None
        ]
        return targeted, _first(results)

    async def patch_all(self, patches: Iterable[tuple[Node, dict[str, Any]]]) -> None:
        """Raises the first error, when everything was tried; what is none is the same as in `apply`."""

        async def write(node: Node, body: dict[str, Any]) -> None:
            async with self._writes:
                await self._patch(node, body)

        results = await asyncio.gather(*(write(*patch) for patch in patches), return_exceptions=True)
        if error := _first(results):
            raise error

    async def _patch(self, node: Node, body: dict[str, Any]) -> None:
        """Ties the patch to the version that it was decided on: whoever changed the node meanwhile wins."""
        body["metadata"]["resourceVersion"] = node.metadata.resource_version
        self._wrote(await self._client.patch(resources.NODES, node.name, body))

    async def _write(self, config: str, change: Change) -> None:
        async with self._writes:
            if change.target:
                await self._aim_report(change.node.name, config)
            await self._patch(change.node, node_patch(config, change))

    async def _aim_report(self, name: str, config: str) -> None:
        """The MachineConfigNode shows where its node is going; it is not what moves it."""
        report = self._reports.store.get(name)
        if report is None or report.spec.config_version.desired == config:
            return
        try:
            await self._client.patch(
                resources.MACHINE_CONFIG_NODES, name, report_patch(report, config), kind=PatchKind.JSON
            )
        except MCOError as error:
            _log.warning("cannot set the desired config of a MachineConfigNode", node=name, error=str(error))


def node_patch(config: str, change: Change) -> dict[str, Any]:
    """Target, taint and topology of one node as one merge patch."""
    annotations: dict[str, Any] = {}
    if change.target:
        annotations = {names.DESIRED_CONFIG: config, names.DESIRED_IMAGE: None}
    if change.topology:
        annotations[names.CONTROL_PLANE_TOPOLOGY] = change.topology
    body: dict[str, Any] = {"metadata": {"annotations": annotations}}
    if change.taint is not None:
        body["spec"] = {"taints": _taints(change.node, change.taint)}
    return body


def report_patch(report: MachineConfigNode, config: str) -> list[dict[str, Any]]:
    """A JSON patch that holds only for this very object, and as long as its spec is the one that was seen,
    even if another target was set and taken back meanwhile. Its daemon writes the report's status all the
    time, so that the object's version would hardly ever be the one that was seen."""
    seen = report.metadata
    return [
        {"op": "test", "path": "/metadata/uid", "value": seen.uid},
        {"op": "test", "path": "/metadata/generation", "value": seen.generation},
        {"op": "replace", "path": "/spec/configVersion/desired", "value": config},
    ]


def _taints(node: Node, wanted: bool) -> list[Taint] | None:
    kept = [taint for taint in node.spec.taints or () if not nodes.is_update_taint(taint)]
    if wanted:
        kept.append(nodes.UPDATE_TAINT)
    return kept or None


def _first(results: Sequence[BaseException | None]) -> BaseException | None:
    unexpected = (r for r in results if r and not isinstance(r, ConflictError | NotFoundError))
    return next(unexpected, None)
