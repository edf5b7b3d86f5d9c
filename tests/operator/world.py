"""An operator on a server of its own, and what it says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mco.api import names, resources
from mco.apiserver.server import Settings, running
from mco.controllers.process import Controllers, Pace
from mco.kube.client import Client
from mco.kube.config import load
from mco.kube.wholes import Wholes
from mco.operator import process
from mco.operator.objects import Installation
from mco.payload.manifest import Manifest
from mco.runtime import version
from mco.runtime.clock import SystemClock
from mco.runtime.supervise import beside

PATIENCE = 60.0
OPERATOR = ("config.openshift.io/v1", "ClusterOperator", "machine-config")
SETTINGS = (f"{names.OPERATOR_GROUP}/v1", "MachineConfiguration", "cluster")


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime.now(UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class World:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.wholes = Wholes(client)

    async def object(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
        body = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
        }
        return await self.wholes.get(body) or {}

    async def until(
        self, holds: Callable[[dict[str, Any]], Any], which: tuple[str, ...] = OPERATOR
    ) -> dict[str, Any]:
        """The object once `holds` is true of it."""
        found: dict[str, Any] = {}
        try:
            async with asyncio.timeout(PATIENCE):
                while not (found and holds(found)):
                    await asyncio.sleep(0.02)
                    with contextlib.suppress(Exception):
                        found = await self.object(*which)
        except TimeoutError as error:
            raise AssertionError(f"it did not become so: {found}") from error
        return found

    async def event(self, reason: str) -> None:
        """Ends when one with this reason is there."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.client.list(resources.EVENTS, namespace=names.NAMESPACE)
                if any(event.reason == reason for event in found.items):
                    return
                await asyncio.sleep(0.02)

    async def kind(self, kind: str, plural: str, api_version: str = "config.openshift.io/v1") -> None:
        """A kind of OpenShift's that takes everything."""
        group, _, version = api_version.partition("/")
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        body: dict[str, Any] = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "scope": "Cluster",
                "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                "versions": [
                    {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                ],
            },
        }
        await self.define(body)

    async def define(self, body: Mapping[str, Any]) -> None:
        """Ends when the kind is served."""
        await self.client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, body)
        which = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", body["metadata"]["name"])
        await self.until(lambda found: said(found, "Established") == "True", which)

    async def openshift(self, kind: str, plural: str, **parts: Any) -> None:
        await self.kind(kind, plural)
        body = {"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"}}
        await self.wholes.create({**body, **parts})

    async def config_map(self, namespace: str, name: str, data: Mapping[str, str]) -> None:
        with contextlib.suppress(Exception):
            await self.client.create(resources.NAMESPACES, {"metadata": {"name": namespace}})
        body = {"metadata": {"name": name, "namespace": namespace}, "data": dict(data)}
        await self.client.create(resources.CONFIG_MAPS, body, namespace=namespace)

    @contextlib.asynccontextmanager
    async def operator(
        self, release: str = "0.1.0", image: str = "", operands: Sequence[Manifest] = ()
    ) -> AsyncIterator[None]:
        installation = Installation(
            server="https://api.example:6443", ca=b"ca", version=release, commit=version.commit(), image=image
        )
        async with beside(process.run(self.client, installation, SystemClock(), operands)):
            yield

    @contextlib.asynccontextmanager
    async def controllers(self) -> AsyncIterator[None]:
        made = Controllers(self.client, SystemClock(), pace=Pace(settle=0.0))
        async with beside(*(part() for part in made.parts.values())):
            yield
        await made.close()


@contextlib.asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[World]:
    async with running(Settings(data_dir=folder)) as api, Client(load(api.kubeconfig)) as client:
        yield World(client)


def _condition(found: Mapping[str, Any], type_: str) -> Mapping[str, str]:
    listed = (found.get("status") or {}).get("conditions") or ()
    return next((each for each in listed if each["type"] == type_), {})


def said(found: Mapping[str, Any], type_: str) -> str:
    """The status of a condition, as `reason` and `message` are its other parts; empty without one."""
    return _condition(found, type_).get("status", "")


def reason(found: Mapping[str, Any], type_: str) -> str:
    return _condition(found, type_).get("reason", "")


def message(found: Mapping[str, Any], type_: str) -> str:
    return _condition(found, type_).get("message", "")


def extension(found: Mapping[str, Any]) -> Mapping[str, str]:
    return (found.get("status") or {}).get("extension") or {}
