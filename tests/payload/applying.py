"""A payload of a test, and what applying it did."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from mco.kube.client import Client
from mco.kube.wholes import Wholes
from mco.payload.apply import Outcome, Pace, Step, apply
from mco.payload.graph import Mode
from mco.payload.manifest import Manifest
from mco.runtime.clock import SystemClock

PACE = Pace(attempts=3, first_wait=0.05, poll=0.02, gate=20.0, established=20.0)


class Payload:
    """Manifests of one test, under names that no other test has, and what was told about applying them."""

    def __init__(self, client: Client, suffix: str = "") -> None:
        self.objects = Counting(client)
        self.client = client
        self.suffix = suffix or uuid.uuid4().hex[:8]
        self.manifests: list[Manifest] = []
        self.steps: list[Step] = []
        self.told = asyncio.Event()

    def add(self, file: str, body: dict[str, Any], **annotations: str) -> Manifest:
        if annotations:
            body["metadata"].setdefault("annotations", {}).update(annotations)
        self.manifests.append(Manifest(file, 1, body))
        return self.manifests[-1]

    def replace(self, manifest: Manifest, body: dict[str, Any]) -> Manifest:
        made = msgspec.structs.replace(manifest, body=body)
        self.manifests[self.manifests.index(manifest)] = made
        return made

    def config_map(self, file: str, data: dict[str, str] | None = None) -> Manifest:
        name = f"{file.replace('_', '-').lower()}-{self.suffix}"
        metadata = {"name": name, "namespace": "default", "annotations": {}}
        return self.add(
            file, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}
        )

    def definition(self, file: str) -> tuple[Manifest, dict[str, Any]]:
        """A CRD, and an object of its kind."""
        plural, group = f"things{self.suffix}", "payload.test"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": f"thing{self.suffix}", "kind": f"Thing{self.suffix}"},
            "versions": [version],
        }
        body = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": spec,
        }
        thing = {"apiVersion": f"{group}/v1", "kind": f"Thing{self.suffix}", "metadata": {"name": "one"}}
        return self.add(file, body), thing

    def through(self, client: Client) -> Payload:
        """The same manifests, applied by another client."""
        other = Payload(client, self.suffix)
        other.manifests = self.manifests
        return other

    async def apply(self, mode: Mode = Mode.UPDATING, pace: Pace = PACE) -> list[str]:
        """`file outcome` of every manifest that is done, in the order in which they were."""
        self.steps.clear()

        def tell(step: Step) -> None:
            self.steps.append(step)
            self.told.set()

        await apply(self.manifests, self.objects, mode, SystemClock(), tell, pace=pace)
        return self.outcomes

    @property
    def outcomes(self) -> list[str]:
        return [f"{s.manifest.file} {s.outcome}" for s in self.steps if s.outcome is not Outcome.WAITING]

    async def waiting_for(self, text: str) -> None:
        await self._until(lambda: any(text in step.message for step in self.steps))

    async def applied(self, count: int) -> None:
        await self._until(lambda: any(step.done == count for step in self.steps))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                self.told.clear()
                await self.told.wait()

    async def has(self, manifest: Manifest) -> bool:
        return await self.objects.get(manifest.body) is not None


class Counting(Wholes):
    """Counts writes, and lets one fail as it is told."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.writes: list[str] = []
        self.failures: dict[str, list[Exception]] = {}
        self.before_patch: Callable[[], Coroutine[Any, Any, None]] | None = None

    def _count(self, verb: str, body: Any) -> None:
        name = body["metadata"]["name"]
        for failure in self.failures.get(name, [])[:1]:
            self.failures[name].pop(0)
            raise failure
        self.writes.append(f"{verb} {name}")

    async def create(self, body: Any) -> dict[str, Any]:
        self._count("create", body)
        return await super().create(body)

    async def patch(self, body: Any, changes: Any) -> dict[str, Any]:
        if self.before_patch is not None:
            before, self.before_patch = self.before_patch, None
            await before()
        self._count("patch", body)
        return await super().patch(body, changes)
